/**
 * A database in memory that several stores share, as several processes share PostgreSQL.
 *
 * Place: the simulator and `--in-memory`. It can hold a key in an open transaction, and lose its newest statements as a
 * promoted standby has; what its stores do to single statements is in store-faults.ts.
 *
 * Invariants
 *  1. Statements happen one at a time, each whole.
 *  2. After `promoteStandby` no statement lands that was sent before.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type { LogRow, RangeId, Seq, ShardId } from '../shard-log.ts';
import type { RunRow } from '../views.ts';
import { Changes, emptyTables, headOf, type ShardTables, type StoredRow } from './tables.ts';

const DEFAULT_JOURNAL = 1_000;
const MAX_WAITING = 10_000;

export type MemoryDatabaseOptions = {
  readonly clock: Clock;
  readonly shardCount: number;
  /** How a conflict with a row shows that was committed while the statement waited. Default `read committed`. */
  readonly isolation?: 'read committed' | 'repeatable read';
  /** How many of the newest statements a promoted standby can lose. Default 1,000. */
  readonly journal?: number;
};

/** Somebody's open transaction that has inserted this row. */
export type HeldRow = { commit(): void; rollback(): void };

/** The rows as they are, for checkers. */
export type Dump = {
  readonly shards: readonly {
    readonly shard: ShardId;
    readonly range: RangeId;
    readonly checkpoint: Seq;
  }[];
  /** By shard and seq. */
  readonly log: readonly StoredRow[];
  readonly runs: readonly (RunRow & { readonly shard: ShardId })[];
};

type Waiter = { readonly keys: readonly string[]; readonly proceed: (sawCommit: boolean) => void };

export class MemoryDatabase {
  readonly isolation: 'read committed' | 'repeatable read';
  readonly #clock: Clock;
  readonly #shards: readonly ShardTables[];
  readonly #journalLength: number;
  #journal: Changes[] = [];
  #life = 1;
  readonly #held = new Map<string, LogRow>();
  readonly #waiters = new Set<Waiter>();

  constructor(options: MemoryDatabaseOptions) {
    this.isolation = options.isolation ?? 'read committed';
    this.#clock = options.clock;
    this.#shards = Array.from({ length: options.shardCount }, emptyTables);
    this.#journalLength = options.journal ?? DEFAULT_JOURNAL;
  }

  /** Which primary this is; grows with each promotion. */
  get life(): number {
    return this.#life;
  }

  /** Statements that wait for a held key. */
  get blocked(): number {
    return this.#waiters.size;
  }

  tables(shard: ShardId): ShardTables {
    const tables = this.#shards[shard];
    if (tables) return tables;
    throw new AtollError('failed-precondition', `the database has no shard ${shard}`);
  }

  now(): number {
    return this.#clock.now();
  }

  /** Runs one statement. If it throws, nothing has happened. */
  transact<Result>(work: (changes: Changes) => Result): Result {
    const changes = new Changes();
    try {
      const result = work(changes);
      if (!changes.empty) this.#record(changes);
      return result;
    } catch (error) {
      changes.undo();
      throw error;
    }
  }

  #record(changes: Changes): void {
    this.#journal.push(changes);
    if (this.#journal.length > 2 * this.#journalLength) {
      this.#journal = this.#journal.slice(-this.#journalLength);
    }
  }

  /** Inserts a row in a transaction that stays open: statements that insert the same key wait for its end. */
  hold(row: LogRow): HeldRow {
    const key = keyOf(row);
    invariant(!this.#held.has(key), `row ${key} is already held`);
    this.#held.set(key, row);
    const life = this.#life;
    const end = (committed: boolean) => {
      if (this.#life !== life || this.#held.get(key) !== row) return;
      this.#held.delete(key);
      if (committed) this.insert(row);
      this.#wake(key, committed);
    };
    return { commit: () => end(true), rollback: () => end(false) };
  }

  insert(row: LogRow): void {
    this.transact((changes) => {
      const { log } = this.tables(row.shard);
      if (!log.has(row.seq)) changes.set(log, row.seq, { ...row, storedAt: this.now() });
    });
  }

  /**
   * Runs `proceed` once none of the rows' keys is held, or never if it is cancelled first. It learns whether it had to
   * wait for a transaction that committed.
   */
  whenFree(rows: readonly LogRow[], proceed: (sawCommit: boolean) => void): () => void {
    const keys = rows.map(keyOf);
    if (!keys.some((key) => this.#held.has(key))) {
      proceed(false);
      return () => {};
    }
    invariant(this.#waiters.size < MAX_WAITING, 'too many statements wait for held keys');
    const waiter: Waiter = { keys, proceed };
    this.#waiters.add(waiter);
    return () => this.#waiters.delete(waiter);
  }

  #wake(key: string, committed: boolean): void {
    for (const waiter of [...this.#waiters]) {
      const free = waiter.keys.includes(key) && !waiter.keys.some((each) => this.#held.has(each));
      if (!free || !this.#waiters.delete(waiter)) continue;
      waiter.proceed(committed);
    }
  }

  /**
   * The primary is gone, and a standby is promoted that lacks the newest `statements` that changed anything. Sessions
   * end; statements on their way never land; open transactions are gone.
   */
  promoteStandby(statements: number): void {
    for (let left = statements; left > 0; left -= 1) this.#journal.pop()?.undo();
    this.#life += 1;
    this.#held.clear();
    this.#waiters.clear();
  }

  dump(): Dump {
    const shards = this.#shards.map((tables, index) => ({ shard: index as ShardId, tables }));
    return {
      shards: shards.map(({ shard, tables }) => {
        const { range, checkpoint } = headOf(tables);
        return { shard, range, checkpoint };
      }),
      log: shards.flatMap(({ tables }) => [...tables.log.values()].sort((a, b) => a.seq - b.seq)),
      runs: shards.flatMap(({ shard, tables }) =>
        [...tables.runs.values()].map((row) => ({ ...row, shard })),
      ),
    };
  }
}

function keyOf({ shard, seq }: LogRow): string {
  return `${shard}/${seq}`;
}
