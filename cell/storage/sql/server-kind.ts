/**
 * What differs between the servers that speak the one dialect (D13), so that one store serves them all.
 *
 * Place: `sql-store.ts` is made for one kind. PostgreSQL is here, YugabyteDB in `yugabyte/`.
 */
import pg from 'pg';
import type { AppendOutcome, LogRow } from '../shard-log.ts';
import { appendRows } from './append.ts';
import type { Runner } from './ownership.ts';
import type { Server } from './server.ts';

export type ServerKind = {
  readonly server: Server;
  /** Appends at most one row a shard; never rejects. */
  append(
    runner: Runner,
    rows: readonly LogRow[],
    signal: AbortSignal,
  ): Promise<readonly AppendOutcome[]>;
  /** Writing connections besides the two writers of a session. */
  readonly spareWriters: number;
  /** How many shards one checkpoint statement moves. */
  readonly shardsACheckpoint: 'all' | 'one';
  readonly checkpointConnections: number;
};

export const postgres: ServerKind = {
  server: {
    product: 'PostgreSQL',
    oneServerASession: true,
    nodes: () => [undefined],
    newClient: (config) => new pg.Client(config),
    joined: async () => {},
    failed: () => {},
  },
  append: appendRows,
  spareWriters: 4,
  shardsACheckpoint: 'all',
  checkpointConnections: 1,
};
