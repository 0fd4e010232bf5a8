/**
 * A cell's storage on PostgreSQL: log, views, and a door to the database for others. YugabyteDB's is made of the same
 * parts (`yugabyte/yugabyte-store.ts`).
 *
 * Place: `bin/` opens one per cell, migrates and provisions it, and hands `log` and `views` to the shards.
 *
 * Connections: two writers, a read barrier and a few spare ones (`writer-session.ts`), a pool of up to four for
 * reads and takeovers, and those of checkpoints. They are made again when they are next needed; a lost database is an
 * error of each call, never of the process.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import type { Log } from '../../../kernel/log.ts';
import type { Checkpoint, SessionId, ShardId, ShardLog } from '../shard-log.ts';
import type { ShardViews } from '../views.ts';
import { claimIdentity, readIdentity, type CellIdentity } from './cell-identity.ts';
import { checkpointStatement, type MovedRow } from './checkpoint.ts';
import { ConnectionPool } from './connection-pool.ts';
import type { ConnectionOptions } from './connection.ts';
import { openDatabase } from './ensure-database.ts';
import type { Database } from './database.ts';
import { migrate } from './migrate.ts';
import {
  claimShard,
  pruneShard,
  readPosition,
  readRowsAfter,
  readTail,
  readVerdicts,
  type Runner,
} from './ownership.ts';
import { hasNoShards, provision } from './provision.ts';
import { postgres, type ServerKind } from './server-kind.ts';
import { SqlViews } from './sql-views.ts';
import { WriterSessions } from './writer-session.ts';

const READERS = 4;
const OLDEST_SERVER = 150_000;
/** Leaves room for millions of claims of each shard below the largest safe integer. */
const CLAIM_SPREAD = 2 ** 30;

export type SqlStoreOptions = {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Default `read committed`. */
  readonly isolation?: 'read committed' | 'repeatable read';
  /** How many ranges a claim draws the next one from; 1 counts them, for tests that name them. Default 2^30. */
  readonly claimSpread?: number;
  /** When the server ends an append or a read barrier, in ms; keep it below what appenders wait. Default 3,000. */
  readonly writeStatementMs?: number;
  /** When the server ends any other statement, in ms. Default 15,000. */
  readonly readStatementMs?: number;
};

export type SqlStore = {
  readonly log: ShardLog;
  readonly views: ShardViews;
  readonly database: Database;
  /** Brings the schema to this release; idempotent. */
  migrate(signal: AbortSignal): Promise<void>;
  /** Makes the cell's shards, or checks that there are as many. */
  provision(shardCount: number, signal: AbortSignal): Promise<void>;
  /** Whose database it is; undefined: nobody's yet. Works before `migrate`. */
  identity(signal: AbortSignal): Promise<CellIdentity | undefined>;
  /** No cell has ever started on it. Works before `migrate`. */
  isEmpty(signal: AbortSignal): Promise<boolean>;
  /** Makes it this cell's, and answers with its id (cell-identity.ts). */
  claim(as: CellIdentity, signal: AbortSignal): Promise<string>;
  /** Gives all connections up. Calls in flight reject; what they sent may still be carried out. */
  close(): void;
};

/**
 * Connects (creating the database if it is missing and the user may) and checks the server. Rejects with an
 * AtollError that says what to do: unreachable, wrong password, no such database, too old, a standby.
 */
export function openSqlStore(options: SqlStoreOptions): Promise<SqlStore> {
  return openStore(options, postgres);
}

/** The store on a server of this kind. */
export async function openStore(options: SqlStoreOptions, kind: ServerKind): Promise<SqlStore> {
  const base = {
    server: kind.server,
    url: options.url,
    clock: options.clock,
    isolation: options.isolation ?? ('read committed' as const),
    statementMs: options.readStatementMs ?? 15_000,
    lockMs: 2_000,
  };
  await checkServer({ ...base, purpose: 'start' }, options.log);
  const statementMs = options.writeStatementMs ?? 3_000;
  const sessions = new WriterSessions(
    {
      ...base,
      purpose: 'append',
      statementMs,
      lockMs: Math.ceil(statementMs / 3),
      spares: kind.spareWriters,
    },
    options.log,
  );
  const pool = new ConnectionPool({ ...base, purpose: 'read' }, READERS);
  const checkpoints = new ConnectionPool(
    { ...base, purpose: 'checkpoint' },
    kind.checkpointConnections,
  );
  return {
    log: new SqlShardLog({
      kind,
      sessions,
      pool,
      checkpoints,
      log: options.log,
      claimSpread: options.claimSpread ?? CLAIM_SPREAD,
    }),
    views: new SqlViews(pool),
    database: pool,
    migrate: (signal) => migrate(pool, { product: kind.server.product, log: options.log, signal }),
    provision: (shardCount, signal) => provision(pool, shardCount, signal),
    identity: (signal) => readIdentity(pool, signal),
    isEmpty: (signal) => hasNoShards(pool, signal),
    claim: (as, signal) => claimIdentity(pool, as, signal),
    close() {
      sessions.close();
      pool.close();
      checkpoints.close();
    },
  };
}

async function checkServer(options: ConnectionOptions, log: Log): Promise<void> {
  const connection = await openDatabase(options);
  const { facts, endpoint } = connection;
  connection.close();
  const { product } = endpoint;
  const at = `${product} at ${endpoint.host}:${endpoint.port}`;
  if (facts.version < OLDEST_SERVER) {
    const version = Math.floor(facts.version / 10_000);
    throw new AtollError(
      'failed-precondition',
      product === 'PostgreSQL'
        ? `${at} has version ${version}: Atoll needs 15 or newer`
        : `${at} is built on PostgreSQL ${version}: Atoll needs a release that is built on 15 or newer`,
    );
  }
  if (facts.encoding !== 'UTF8') {
    throw new AtollError(
      'failed-precondition',
      `database "${endpoint.database}" has the encoding ${facts.encoding}: create one with UTF8`,
    );
  }
  // What a node of YugabyteDB has on its disk is its own log, not that of PostgreSQL.
  if (!facts.fsync && product === 'PostgreSQL') {
    log.warn(
      {},
      `${at} runs with fsync off: a crash of its machine can lose what was acknowledged`,
    );
  }
}

type SqlShardLogParts = {
  readonly kind: ServerKind;
  readonly sessions: WriterSessions;
  readonly pool: ConnectionPool;
  readonly checkpoints: ConnectionPool;
  readonly log: Log;
  readonly claimSpread: number;
};

class SqlShardLog implements ShardLog {
  readonly #parts: SqlShardLogParts;

  constructor(parts: SqlShardLogParts) {
    this.#parts = parts;
  }

  async append(
    ...[rows, session, signal]: Parameters<ShardLog['append']>
  ): ReturnType<ShardLog['append']> {
    const { kind, sessions } = this.#parts;
    const parity = (rows[0]?.shard ?? 0) % 2;
    const stale = rows.map(() => ({ kind: 'stale-session' as const }));
    if (!sessions.named(session)) return stale;
    const runner: Runner = {
      run: (statement, deadline) => {
        const live = sessions.named(session);
        if (live) return sessions.run(live, parity, { statement, signal: deadline });
        return Promise.reject(new AtollError('unavailable', 'the session with the database ended'));
      },
    };
    return kind.append(runner, rows, signal);
  }

  async verify(
    ...[claims, signal]: Parameters<ShardLog['verify']>
  ): ReturnType<ShardLog['verify']> {
    const session = await this.#parts.sessions.live(signal);
    const verdicts = claims.length === 0 ? [] : await readVerdicts(session.barrier, claims, signal);
    return { session: session.id satisfies SessionId, verdicts };
  }

  async claim(shard: ShardId, signal: AbortSignal): ReturnType<ShardLog['claim']> {
    const { pool, claimSpread: spread } = this.#parts;
    const range = await claimShard(pool, { shard, spread }, signal);
    // Housekeeping that nobody waits for: what it leaves, the next claim sweeps.
    pruneShard(pool, shard, signal).catch((error: unknown) =>
      this.#parts.log.debug({ shard, error }, 'did not prune the log'),
    );
    return range;
  }

  position(shard: ShardId, signal: AbortSignal): ReturnType<ShardLog['position']> {
    return readPosition(this.#parts.pool, shard, signal);
  }

  tail(shard: ShardId, signal: AbortSignal): ReturnType<ShardLog['tail']> {
    return readTail(this.#parts.pool, shard, signal);
  }

  rowsAfter(
    ...[shard, page, signal]: Parameters<ShardLog['rowsAfter']>
  ): ReturnType<ShardLog['rowsAfter']> {
    return readRowsAfter(this.#parts.pool, { shard, ...page }, signal);
  }

  async checkpoint(batch: readonly Checkpoint[], signal: AbortSignal): Promise<readonly ShardId[]> {
    if (batch.length === 0) return [];
    if (this.#parts.kind.shardsACheckpoint === 'all') return this.#move(batch, signal);
    const settled = await Promise.allSettled(batch.map((each) => this.#move([each], signal)));
    const failures = settled.flatMap((each): readonly unknown[] =>
      each.status === 'rejected' ? [each.reason] : [],
    );
    if (failures.length === batch.length) throw failures[0];
    // Its owner reads a shard back that is not among those that moved.
    for (const err of failures) this.#parts.log.debug({ err }, 'a checkpoint is unknown');
    return settled.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  }

  async #move(batch: readonly Checkpoint[], signal: AbortSignal): Promise<readonly ShardId[]> {
    const moved = await this.#parts.checkpoints.run<MovedRow>(checkpointStatement(batch), signal);
    return moved.map(({ shard_id }) => shard_id);
  }
}
