/** The storage of a cell by configuration: PostgreSQL or YugabyteDB by URL, or memory for a throwaway cell. */
import { MemoryDatabase } from '../cell/storage/memory/memory-database.ts';
import { MemoryStore } from '../cell/storage/memory/memory-store.ts';
import type { ShardLog } from '../cell/storage/shard-log.ts';
import { assertBelongs, type CellIdentity } from '../cell/storage/sql/cell-identity.ts';
import type { SqlStore } from '../cell/storage/sql/sql-store.ts';
import type { ShardViews } from '../cell/storage/views.ts';
import { MemoryVisibility } from '../cell/visibility/memory/memory-visibility.ts';
import type { Visibility } from '../cell/visibility/visibility.ts';
import type { Clock } from '../kernel/clock.ts';
import { withDeadline } from '../kernel/deadline.ts';
import { AtollError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { Rng } from '../kernel/rng.ts';
import type { DeadLetters } from '../replication/dead-letters.ts';
import type { Losses } from '../replication/losses/losses.ts';
import { MemoryDeadLetters } from '../replication/memory/dead-letters.ts';
import { MemoryLosses } from '../replication/memory/losses.ts';

export type CellStorageOptions =
  | { readonly kind: 'memory' }
  /** `postgres://user:password@host:port/database`, or `yugabytedb://…`: a database of its own per cell. */
  | { readonly kind: 'postgres'; readonly url: string };

/** Of a cell that the fleet map knows: the id, where it has one. */
export type KnownDatabase = { readonly databaseId: string | undefined };

export type CellStorage = {
  readonly log: ShardLog;
  readonly views: ShardViews;
  readonly visibility: Visibility;
  readonly deadLetters: DeadLetters;
  readonly losses: Losses;
  /** The id of the database; undefined: it is memory, as young as the process. */
  readonly databaseId: string | undefined;
  close(): void;
};

const MIGRATE_MS = 30_000;

/** Opens, migrates and provisions, as this cell's own. Errors say what to do: see openSqlStore. */
export async function openCellStorage(
  options: {
    readonly id: string;
    readonly storage: CellStorageOptions;
    readonly shards: number;
    /** What the fleet map says of the database that is to be the one; undefined: that any may be. */
    readonly known?: KnownDatabase | undefined;
  },
  ports: { readonly clock: Clock; readonly rng: Rng; readonly log: Log },
): Promise<CellStorage> {
  const { clock, rng } = ports;
  if (options.storage.kind === 'memory') {
    const database = new MemoryDatabase({ clock, shardCount: options.shards });
    const store = new MemoryStore(database, ports);
    return {
      log: store,
      views: store.views,
      visibility: new MemoryVisibility(),
      deadLetters: new MemoryDeadLetters(),
      losses: new MemoryLosses(),
      databaseId: undefined,
      close: () => {},
    };
  }
  const { SqlVisibility } = await import('../cell/visibility/sql/sql-visibility.ts');
  const { SqlDeadLetters } = await import('../replication/sql/dead-letters.ts');
  const { SqlLosses } = await import('../replication/sql/losses.ts');
  const store = await openDatabaseOf(options.storage.url, ports);
  let databaseId: string;
  try {
    const deadline = { what: 'migrating the database', timeoutMs: MIGRATE_MS };
    databaseId = await withDeadline(clock, deadline, async (signal) => {
      // Before anything is made there: it may be a database that another cell is to start on.
      const found = await store.identity(signal);
      assertBelongs(found, options.id);
      if (options.known)
        await assertSame(found, { store, known: options.known, id: options.id }, signal);
      await store.migrate(signal);
      await store.provision(options.shards, signal);
      return store.claim({ cellId: options.id, databaseId: rng.uuid() }, signal);
    });
  } catch (error) {
    store.close();
    throw error;
  }
  const { log, views, database } = store;
  return {
    log,
    views,
    visibility: new SqlVisibility(database),
    deadLetters: new SqlDeadLetters(database),
    losses: new SqlLosses(database),
    databaseId,
    close: () => store.close(),
  };
}

async function assertSame(
  found: CellIdentity | undefined,
  {
    store,
    known,
    id,
  }: { readonly store: SqlStore; readonly known: KnownDatabase; readonly id: string },
  signal: AbortSignal,
): Promise<void> {
  const { databaseId } = known;
  const isSame = databaseId === undefined || found?.databaseId === databaseId;
  // Where the map was written by a release that named no database, an empty one is not the one that the cell has served from.
  if (isSame && (found !== undefined || !(await store.isEmpty(signal)))) return;
  const where = databaseId === undefined ? 'another database' : `database ${databaseId}`;
  const what = found === undefined ? 'this one is new' : `this one is ${found.databaseId}`;
  throw new AtollError(
    'failed-precondition',
    `cell ${id} has its workflows in ${where}, and ${what}: check --postgres-url. If that database is gone for good: docs/runbooks/replicas.md, --new-database`,
  );
}

/** The store that the URL's scheme calls for, not yet migrated. @throws AtollError `invalid-argument` if it is no URL */
export async function openDatabaseOf(
  url: string,
  ports: { readonly clock: Clock; readonly log: Log },
): Promise<SqlStore> {
  checkUrl(url);
  // Loaded only here: a server in memory starts sooner without them.
  if (/^(yugabytedb|yugabyte):/i.test(url)) {
    const { openYugabyteStore } = await import('../cell/storage/sql/yugabyte/yugabyte-store.ts');
    return openYugabyteStore({ url, ...ports });
  }
  const { openSqlStore } = await import('../cell/storage/sql/sql-store.ts');
  return openSqlStore({ url, ...ports });
}

/** Drivers would take any scheme for PostgreSQL's, and show the whole URL, password and all, if they cannot read it. */
function checkUrl(url: string): void {
  // Without a host it leads to a socket: a form that drivers alone can read.
  const readable = URL.canParse(url.replace('@/', '@host/'));
  // As of postgres://user:7/word@host/database, which names a host `user` at port 7.
  const split = /^[^:]+:\/\/[^/?#@]+[/?#].*@/.test(url);
  if (readable && !split && /^(postgres|postgresql|yugabyte|yugabytedb):\/\//i.test(url)) return;
  throw new AtollError(
    'invalid-argument',
    '--postgres-url (or ATOLL_POSTGRES_URL) must be postgres:// or yugabytedb://user:password@host:port/database; in the password, write / as %2F, # as %23, ? as %3F, @ as %40 and % as %25',
  );
}
