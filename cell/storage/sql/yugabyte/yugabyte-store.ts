/**
 * A cell's storage on YugabyteDB: the store of `sql-store.ts` with appends and checkpoints of YugabyteDB's own form.
 *
 * Place: `bin/` opens it for a `yugabytedb://` URL.
 *
 * A commit there is replicated before it is acknowledged, and no node is promoted that lacks it. So the connections of
 * a session may lead to different nodes; a lost one ends the session all the same, and owners verify.
 */
import { openStore, type SqlStore, type SqlStoreOptions } from '../sql-store.ts';
import { appendEach } from './append.ts';
import { YugabyteCluster } from './cluster.ts';

const DEFAULT_PORT = '5433';

/** As `openSqlStore`, for `yugabytedb://user:password@host:port/database`; the port is 5433 where none is given. */
export function openYugabyteStore(options: SqlStoreOptions): Promise<SqlStore> {
  const url = new URL(options.url);
  if (url.port === '') url.port = DEFAULT_PORT;
  return openStore(
    { ...options, url: url.href },
    {
      server: new YugabyteCluster(options.clock),
      append: appendEach,
      spareWriters: 6,
      shardsACheckpoint: 'one',
      checkpointConnections: 4,
    },
  );
}
