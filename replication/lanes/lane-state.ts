/**
 * One lane's memory: its queue, its place in each shard, its parked runs (PROTOCOLS 7). No I/O; lane-sender.ts feeds it,
 * lane.ts empties it.
 *
 * Invariants
 *  1. `position(shard)` never passes a row with an entry that is not acknowledged, dead-lettered or covered by an image.
 *  2. The queue holds at most `laneQueueBytes` and nothing older than `laneBudgetMs`: over either it is dropped, and the
 *     shards that had something in it go to copy from their position.
 *  3. Nothing of a parked run is queued: its dead letter stands for all that follows, and its image repairs it.
 */
import type { Delivery } from '../../cell/shard/replicas/replicas.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import type { EpochMs } from '../../kernel/clock.ts';
import type { ReplicationConfig } from '../config.ts';
import { LaneQueue, type LaneEntry } from './lane-queue.ts';
import type { LaneKey } from './lanes-of-map.ts';
import { beginRound, overBudget, pageSent, takesRows, type ShardCursor } from './shard-cursor.ts';

export type ParkedRun = {
  readonly workflowId: string;
  readonly runId: string;
  readonly letters: number;
  /** Repairs tried, and when the next is due, by the wall clock. */
  readonly repairs: number;
  readonly repairAt: number;
};

/** After how many tries in a row a run is parked; `always`: they count though the target takes nothing else. */
export type Patience = { readonly tries: number; readonly always: boolean };

export class LaneState {
  readonly key: LaneKey;
  readonly queue = new LaneQueue();
  readonly parked = new Map<string, ParkedRun>();
  /** What an earlier process had parked is among them. */
  lettersRead = false;
  /** Tries in a row that came to `later`, by run id; of what is queued, or on a page of the copy. */
  readonly #tries = new Map<string, { readonly count: number; readonly taken: number }>();
  /** Things that the target has taken so far. */
  #taken = 0;
  readonly #config: ReplicationConfig;
  readonly #cursors = new Map<ShardId, ShardCursor>();
  /** The last committed row of each open shard; the sender's. */
  readonly #ends: ReadonlyMap<ShardId, Seq>;
  /** What the target was last told is pending; -1: it may not have heard. */
  told = 0;
  /** When it was first seen that nobody knows since when changes are missing at the target, ms since 1970. */
  unclearSince: EpochMs | undefined;
  /** Monotonic time of the target's last answer to a call of this lane; undefined: never. */
  heardMs: number | undefined;
  /** Runs that the copy has sent or found equal, and pages' runs so far. */
  copied = 0;

  constructor(key: LaneKey, ends: ReadonlyMap<ShardId, Seq>, config: ReplicationConfig) {
    this.key = key;
    this.#ends = ends;
    this.#config = config;
  }

  cursor(shard: ShardId): ShardCursor | undefined {
    return this.#cursors.get(shard);
  }

  /** A shard was opened, or its rows have been read. */
  place(shard: ShardId, cursor: ShardCursor): void {
    if (cursor.kind === 'copy' && !this.isCopying) this.copied = 0;
    this.#cursors.set(shard, cursor);
  }

  closed(shard: ShardId): void {
    this.#cursors.delete(shard);
    this.queue.drop(shard);
  }

  /**
   * The target could not take the run for now. How often in a row, this time counted: unless `always`, only where it has taken
   * something else since the time before, for a target that takes nothing at all is away as a whole.
   */
  triedInVain(runId: string, { always }: { readonly always: boolean }): number {
    const known = this.#tries.get(runId);
    if (known !== undefined && !always && known.taken === this.#taken) return known.count;
    const count = (known?.count ?? 0) + 1;
    this.#tries.set(runId, { count, taken: this.#taken });
    return count;
  }

  /** The target has taken something of the run. */
  taken(runId: string): void {
    this.#taken += 1;
    this.#tries.delete(runId);
  }

  /** Another try counts from the first one again. */
  forgetTries(runId: string): void {
    this.#tries.delete(runId);
  }

  /** Queues an entry if the lane follows its shard. True when that made the lane drop its queue. */
  offer(entry: LaneEntry): boolean {
    const cursor = this.#cursors.get(entry.shard);
    if (cursor === undefined || !takesRows(cursor) || this.parked.has(entry.runId)) return false;
    this.queue.offer(entry);
    if (this.queue.bytes <= this.#config.laneQueueBytes) return false;
    this.#dropQueue();
    return true;
  }

  /** Drops the queue if it waits for its target since too long. */
  tooOld(now: number): boolean {
    const oldest = this.queue.oldestAt();
    if (oldest === undefined || now - oldest <= this.#config.laneBudgetMs) return false;
    this.#dropQueue();
    return true;
  }

  /** Everything of the shard at or below has been acknowledged (copy: changed runs after it are still to send). */
  position(shard: ShardId): Seq | undefined {
    const cursor = this.#cursors.get(shard);
    switch (cursor?.kind) {
      case undefined:
        return undefined;
      case 'behind':
        return cursor.after;
      case 'copy':
        return cursor.since;
      case 'tail': {
        const lowest = this.queue.lowest(shard);
        return lowest === undefined ? this.#ends.get(shard) : ((lowest - 1) as Seq);
      }
    }
  }

  /** Everything of the shard that changed before has been acknowledged; undefined: such a time is not known. */
  settledUpTo(shard: ShardId, now: EpochMs): EpochMs | undefined {
    const cursor = this.#cursors.get(shard);
    return cursor?.kind === 'tail' ? (this.queue.oldestAt(shard) ?? now) : cursor?.at;
  }

  /** A row cannot be queued: what changed since the shard's position is copied. */
  copyFrom(shard: ShardId, row: { readonly seq: Seq; readonly at: EpochMs }): void {
    const since = Math.min(this.position(shard) ?? row.seq - 1, row.seq - 1) as Seq;
    const at = this.settledUpTo(shard, row.at);
    this.queue.drop(shard);
    this.place(shard, { kind: 'copy', since, at });
  }

  /** Whether the target has what a run had in a shard's row of that seq, and before: a dead letter does not bring it. */
  delivery(shard: ShardId, upTo: { readonly runId: string; readonly seq: Seq }): Delivery {
    if (!this.lettersRead || this.parked.has(upTo.runId)) return 'runs';
    if ((this.position(shard) ?? 0) >= upTo.seq) return 'done';
    return this.#cursors.get(shard)?.kind === 'copy' ? 'runs' : 'steps';
  }

  /** Whether the log below must be kept for this lane. */
  holdsLog(shard: ShardId): boolean {
    const kind = this.#cursors.get(shard)?.kind;
    return kind === 'tail' || kind === 'behind';
  }

  get isCopying(): boolean {
    for (const cursor of this.#cursors.values()) if (cursor.kind === 'copy') return true;
    return false;
  }

  /** The shard whose copy goes on, its round begun. */
  nextCopy():
    { readonly shard: ShardId; readonly cursor: ShardCursor & { kind: 'copy' } } | undefined {
    for (const [shard, known] of this.#cursors) {
      if (known.kind !== 'copy') continue;
      const end = this.#ends.get(shard);
      if (end === undefined) continue;
      const cursor = known.round ? known : beginRound(known, end);
      this.#cursors.set(shard, cursor);
      if (cursor.kind === 'copy') return { shard, cursor };
    }
    return undefined;
  }

  /** A page of that shard's copy has arrived, unless the shard was closed or opened anew meanwhile. */
  copiedPage(
    shard: ShardId,
    page: { readonly of: ShardCursor; readonly runs: number; readonly next: string | undefined },
  ): void {
    const known = this.#cursors.get(shard);
    this.copied += page.runs;
    if (known?.kind !== 'copy' || page.of.kind !== 'copy') return;
    if (known.round?.covers !== page.of.round?.covers || known.since !== page.of.since) return;
    this.#cursors.set(shard, pageSent(known, page.next));
  }

  /** Shards still in copy, and all. */
  get shardCounts(): { readonly copying: number; readonly all: number } {
    let copying = 0;
    for (const cursor of this.#cursors.values()) if (cursor.kind === 'copy') copying += 1;
    return { copying, all: this.#cursors.size };
  }

  /** The target has had all of every shard once. */
  get isSeeded(): boolean {
    return ![...this.#cursors.values()].some((one) => one.kind === 'copy' && one.since === 0);
  }

  /** Per shard that is not followed the time before which all has been acknowledged; undefined: not known. */
  get unfollowed(): readonly (EpochMs | undefined)[] {
    return [...this.#cursors.values()].flatMap((one) => (one.kind === 'tail' ? [] : [one.at]));
  }

  /** Rows that are still to be read from the log. */
  get rowsBehind(): number {
    let rows = 0;
    for (const [shard, cursor] of this.#cursors) {
      if (cursor.kind === 'behind') rows += (this.#ends.get(shard) ?? cursor.after) - cursor.after;
    }
    return rows;
  }

  #dropQueue(): void {
    this.#tries.clear();
    if (!this.isCopying) this.copied = 0;
    for (const [shard, cursor] of this.#cursors) {
      const lowest = this.queue.lowest(shard);
      if (lowest === undefined) continue;
      const first = { position: (lowest - 1) as Seq, at: this.queue.oldestAt(shard) };
      this.#cursors.set(shard, overBudget(cursor, first));
    }
    this.queue.drop();
  }
}
