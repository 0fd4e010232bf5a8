/**
 * One process's acquaintance with a database in memory: log and views, a session, and faults on command.
 *
 * Place: each host of the simulator has its own, all on one MemoryDatabase; `--in-memory` has one without faults.
 *
 * Invariant: everything is decided by the calls, the clock, the generator and the faults; the same ones give the same run.
 */
import type { Clock } from '../../../kernel/clock.ts';
import type { Rng } from '../../../kernel/rng.ts';
import type {
  AppendOutcome,
  Checkpoint,
  Claim,
  LogRow,
  RangeId,
  Seq,
  SessionId,
  ShardId,
  ShardLog,
  ShardPosition,
  Tail,
  Verdict,
} from '../shard-log.ts';
import { verdictOn } from '../verdict.ts';
import type { MemoryDatabase } from './memory-database.ts';
import { MemoryViews } from './memory-views.ts';
import { send, serializationFailure, statementTimeout, type Sending } from './statement.ts';
import { noFaults, type StoreFaults, type StoreStatement } from './store-faults.ts';
import {
  applyCheckpoint,
  headOf,
  type Changes,
  type ShardTables,
  type StoredRow,
} from './tables.ts';

const KEPT_TAKEOVERS = 64;
const KEPT_TAKEOVER_MS = 30 * 24 * 3_600_000;
const DEFAULT_STATEMENT_MS = 3_000;

export type MemoryStoreOptions = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly faults?: StoreFaults;
  /** Each statement takes a random time in this range to reach the database. Default none. */
  readonly latencyMs?: { readonly from: number; readonly to: number };
  /** How long an append waits for a key that an open transaction holds. Default 3,000. */
  readonly statementMs?: number;
  /**
   * How far a claim raises the range. Default 1: only where standbys are promoted can a claim get lost, and then the
   * step must be drawn (promise 5 of the port).
   */
  readonly claimStep?: () => number;
};

export class MemoryStore implements ShardLog {
  readonly views: MemoryViews;
  readonly #database: MemoryDatabase;
  readonly #options: MemoryStoreOptions;
  readonly #faults: StoreFaults;
  #session = 0;
  #life = 0;
  #connection = new AbortController();

  constructor(database: MemoryDatabase, options: MemoryStoreOptions) {
    this.#database = database;
    this.#options = options;
    this.#faults = options.faults ?? noFaults;
    this.views = new MemoryViews(database, (shards, read, signal) =>
      this.#ask({ kind: 'read', shards, rows: [] }, read, signal),
    );
  }

  /** Breaks the connection: calls in flight fail, their statements go on; the next `verify` starts another session. */
  breakConnection(): void {
    this.#connection.abort();
  }

  append(
    rows: readonly LogRow[],
    session: SessionId,
    signal: AbortSignal,
  ): Promise<readonly AppendOutcome[]> {
    if (!this.#connected || session !== this.#session) {
      return Promise.resolve(rows.map(() => ({ kind: 'stale-session' })));
    }
    const statement: StoreStatement = { kind: 'append', shards: rows.map(shardOf), rows };
    return this.#send<readonly AppendOutcome[]>(statement, signal, (answer, fail) =>
      this.#insertWhenFree(rows, answer, fail),
    ).catch((cause: unknown) => rows.map(() => ({ kind: 'unknown', cause })));
  }

  async verify(
    claims: readonly Claim[],
    signal: AbortSignal,
  ): Promise<{ readonly session: SessionId; readonly verdicts: readonly Verdict[] }> {
    this.#reconnect();
    const session = this.#session as SessionId;
    const verdicts = await this.#ask<readonly Verdict[]>(
      { kind: 'verify', shards: claims.map(shardOf), rows: [] },
      () => claims.map((claim) => this.#verdict(claim)),
      signal,
    );
    return { session, verdicts };
  }

  claim(shard: ShardId, signal: AbortSignal): Promise<RangeId> {
    return this.#ask(
      { kind: 'claim', shards: [shard], rows: [] },
      (changes) => {
        const tables = this.#database.tables(shard);
        const head = headOf(tables);
        const range = (head.range + (this.#options.claimStep?.() ?? 1)) as RangeId;
        changes.set(tables.head, 'head', { ...head, range });
        this.#prune(tables, changes);
        return range;
      },
      signal,
    );
  }

  position(shard: ShardId, signal: AbortSignal): Promise<ShardPosition> {
    return this.#ask(
      { kind: 'position', shards: [shard], rows: [] },
      () => {
        const tables = this.#database.tables(shard);
        const { range, checkpoint } = headOf(tables);
        const end = Math.max(checkpoint, ...tables.log.keys()) as Seq;
        return { range, checkpoint, end };
      },
      signal,
    );
  }

  tail(shard: ShardId, signal: AbortSignal): Promise<Tail> {
    return this.#ask(
      { kind: 'tail', shards: [shard], rows: [] },
      () => {
        const tables = this.#database.tables(shard);
        const { range, checkpoint, notes } = headOf(tables);
        return { range, checkpoint, notes, rows: rowsAfter(tables, checkpoint) };
      },
      signal,
    );
  }

  rowsAfter(
    shard: ShardId,
    { after, limit }: { readonly after: Seq; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly LogRow[]> {
    return this.#ask(
      { kind: 'read', shards: [shard], rows: [] },
      () => rowsAfter(this.#database.tables(shard), after).slice(0, limit),
      signal,
    );
  }

  checkpoint(batch: readonly Checkpoint[], signal: AbortSignal): Promise<readonly ShardId[]> {
    return this.#ask(
      { kind: 'checkpoint', shards: batch.map(shardOf), rows: [] },
      (changes) =>
        batch
          .filter((each) => applyCheckpoint(this.#database.tables(each.shard), each, changes))
          .map(shardOf),
      signal,
    );
  }

  get #connected(): boolean {
    return this.#life === this.#database.life && !this.#connection.signal.aborted;
  }

  #reconnect(): void {
    if (this.#connected) return;
    this.#connection.abort();
    this.#connection = new AbortController();
    this.#life = this.#database.life;
    this.#session += 1;
  }

  /** A statement that happens at one moment. */
  #ask<Result>(
    statement: StoreStatement,
    work: (changes: Changes) => Result,
    signal: AbortSignal,
  ): Promise<Result> {
    this.#reconnect();
    return this.#send<Result>(statement, signal, (answer, fail) => {
      let result: Result;
      try {
        result = this.#database.transact(work);
      } catch (error) {
        fail(error);
        return;
      }
      answer(result);
    });
  }

  #send<Result>(
    statement: StoreStatement,
    signal: AbortSignal,
    land: Sending<Result>['land'],
  ): Promise<Result> {
    const { from, to } = this.#options.latencyMs ?? { from: 0, to: 0 };
    return send({
      database: this.#database,
      clock: this.#options.clock,
      fate: this.#faults.fateOf(statement),
      latencyMs: to === 0 ? 0 : from + this.#options.rng.fraction() * (to - from),
      signal,
      connection: this.#connection.signal,
      land,
    });
  }

  #insertWhenFree(
    rows: readonly LogRow[],
    answer: (outcomes: readonly AppendOutcome[]) => void,
    fail: (error: unknown) => void,
  ): void {
    let cancelAlarm = () => {};
    let waiting = true;
    const leave = this.#database.whenFree(rows, (sawCommit) => {
      waiting = false;
      cancelAlarm();
      const conflict = rows.some((row) => this.#database.tables(row.shard).log.has(row.seq));
      if (sawCommit && conflict && this.#database.isolation === 'repeatable read') {
        fail(serializationFailure());
        return;
      }
      answer(this.#database.transact((changes) => rows.map((row) => this.#insert(row, changes))));
    });
    if (!waiting) return;
    cancelAlarm = this.#options.clock.after(
      this.#options.statementMs ?? DEFAULT_STATEMENT_MS,
      () => {
        leave();
        fail(statementTimeout());
      },
    );
  }

  #insert(row: LogRow, changes: Changes): AppendOutcome {
    const { log } = this.#database.tables(row.shard);
    const present = log.get(row.seq);
    if (!present) {
      changes.set(log, row.seq, { ...row, storedAt: this.#database.now() });
      return { kind: 'committed' };
    }
    const ours = Buffer.compare(present.nonce, row.nonce) === 0;
    return ours ? { kind: 'committed' } : { kind: 'fenced', by: present.range };
  }

  #verdict(claim: Claim): Verdict {
    const tables = this.#database.tables(claim.shard);
    const { range, checkpoint } = headOf(tables);
    return verdictOn(claim, {
      owner: range,
      checkpoint,
      here: tables.log.get(claim.committed)?.range,
      next: tables.log.get(claim.committed + 1)?.range,
    });
  }

  /** Stray rows of late statements go, and takeovers that are neither young nor among the last. */
  #prune(tables: ShardTables, changes: Changes): void {
    const { deleted } = headOf(tables);
    const takeovers = [...tables.log.values()]
      .filter(({ takeover }) => takeover)
      .map(({ seq }) => seq);
    const oldestKept = takeovers.sort((a, b) => b - a)[KEPT_TAKEOVERS - 1] ?? 0;
    const youngest = this.#database.now() - KEPT_TAKEOVER_MS;
    for (const { seq, takeover, storedAt } of tables.log.values()) {
      if (seq > deleted) continue;
      if (!takeover || (seq < oldestKept && storedAt < youngest)) changes.delete(tables.log, seq);
    }
  }
}

function rowsAfter(tables: ShardTables, after: Seq): LogRow[] {
  return [...tables.log.values()]
    .filter(({ seq }) => seq > after)
    .sort((a, b) => a.seq - b.seq)
    .map(asAppended);
}

/** The row without what the database noted of it. */
function asAppended({ shard, seq, range, nonce, takeover, record }: StoredRow): LogRow {
  return { shard, seq, range, nonce, takeover, record };
}

function shardOf({ shard }: { readonly shard: ShardId }): ShardId {
  return shard;
}
