/**
 * A database in memory that remembers what its log ever held: the evidence of the checkers that judge by the store.
 *
 * Place: all hosts of a world are on one. `effective` is a shard's log as its owners must see it, also the part that
 * checkpoints have deleted since.
 *
 * Invariants
 *  1. A row counts when its statement has committed; a row at or below the checkpoint of its moment is a stray one and
 *     counts for nothing (PROTOCOLS 2.3).
 *  2. What a promoted standby lacks leaves `effective` and is remembered as lost, until a checkpoint of its owner, who
 *     still has it in memory, passes it: then the views hold it, and nothing is lost.
 */
import type { LogRow, Seq, ShardId } from '../../cell/storage/shard-log.ts';
import {
  MemoryDatabase,
  type MemoryDatabaseOptions,
} from '../../cell/storage/memory/memory-database.ts';
import { Changes, headOf, type StoredRow } from '../../cell/storage/memory/tables.ts';
import type { WorldTime } from './world-time.ts';

export type SeenRow = LogRow & {
  /** World time at which it was stored. */
  readonly atMs: number;
  /** The order of storing, over all shards. */
  readonly order: number;
};

type Inserted = { readonly row: StoredRow; readonly shard: ShardId };

export class WatchedDatabase extends MemoryDatabase {
  readonly effective: Map<number, SeenRow>[];
  lost: SeenRow[] = [];
  /** What must never happen in a log, in order of happening. */
  readonly breaches: string[] = [];
  readonly #time: WorldTime;
  #order = 0;
  #sincePromotion = 0;
  rowsSeen = 0;
  takeoversSeen = 0;

  constructor(options: MemoryDatabaseOptions & { readonly clock: WorldTime }) {
    super(options);
    this.#time = options.clock;
    this.effective = Array.from({ length: options.shardCount }, () => new Map<number, SeenRow>());
  }

  override transact<Result>(work: (changes: Changes) => Result): Result {
    const inserted: Inserted[] = [];
    let changed = false;
    const result = super.transact((changes) => {
      const watched = new WatchedChanges(changes, (value) => {
        changed = true;
        if (isLogRow(value)) inserted.push({ row: value, shard: value.shard });
      });
      return work(watched);
    });
    if (changed) this.#sincePromotion += 1;
    for (const { row } of inserted) this.#see(row);
    if (this.lost.length > 0) this.#regain();
    return result;
  }

  /** How many of the newest statements a standby may lack, claims among them. */
  get losable(): number {
    return this.#sincePromotion;
  }

  override promoteStandby(statements: number): void {
    super.promoteStandby(statements);
    this.#sincePromotion = 0;
    this.effective.forEach((rows, index) => {
      const tables = this.tables(index as ShardId);
      const { checkpoint } = headOf(tables);
      for (const [seq, row] of rows) {
        if (seq <= checkpoint || tables.log.has(seq)) continue;
        rows.delete(seq);
        this.lost.push(row);
      }
    });
  }

  /** Whether a row that was there is lost, and no checkpoint has passed it since. */
  lacks({ shard, committed }: { readonly shard: ShardId; readonly committed: Seq }): boolean {
    return this.lost.some((row) => row.shard === shard && row.seq === committed);
  }

  /** Whether the shard's views hold all of its log but takeovers. */
  isViewed(shard: ShardId): boolean {
    const { checkpoint } = headOf(this.tables(shard));
    const rows = [...(this.effective[shard]?.values() ?? [])];
    return rows.every(({ seq, takeover }) => takeover || seq <= checkpoint);
  }

  #regain(): void {
    this.lost = this.lost.filter((row) => {
      const rows = this.effective[row.shard];
      const { checkpoint, range } = headOf(this.tables(row.shard));
      if (!rows || row.seq > checkpoint || row.range > range || rows.has(row.seq)) return true;
      rows.set(row.seq, row);
      return false;
    });
  }

  #see(stored: StoredRow): void {
    const { storedAt: _, ...row } = stored;
    const rows = this.effective[row.shard];
    const { checkpoint } = headOf(this.tables(row.shard));
    if (!rows || row.seq <= checkpoint) return;
    this.rowsSeen += 1;
    if (row.takeover) this.takeoversSeen += 1;
    const what = `shard ${row.shard} seq ${row.seq} of range ${row.range}`;
    const before = rows.get(row.seq);
    if (before && Buffer.compare(before.nonce, row.nonce) !== 0) {
      this.breaches.push(
        `P2: ${what} was stored where range ${before.range} had stored another row`,
      );
      return;
    }
    const below = rows.get(row.seq - 1);
    if (!below && row.seq > 1) this.breaches.push(`P2: ${what} was stored over a hole`);
    if (below && below.range > row.range) {
      this.breaches.push(`P2: ${what} was stored above range ${below.range}`);
    }
    const above = rows.get(row.seq + 1);
    if (above && above.range < row.range) {
      this.breaches.push(`P2: ${what} was stored below range ${above.range}`);
    }
    rows.set(row.seq, { ...row, atMs: this.#time.monotonicMs(), order: this.#order++ });
  }
}

/** Passes changes on, and tells of each what is. */
class WatchedChanges extends Changes {
  readonly #inner: Changes;
  readonly #see: (value: unknown) => void;

  constructor(inner: Changes, see: (value: unknown) => void) {
    super();
    this.#inner = inner;
    this.#see = see;
  }

  override set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    this.#see(value);
    this.#inner.set(map, key, value);
  }

  override delete<Key, Value>(map: Map<Key, Value>, key: Key): void {
    this.#inner.delete(map, key);
  }
}

function isLogRow(value: unknown): value is StoredRow {
  return typeof value === 'object' && value !== null && 'nonce' in value;
}
