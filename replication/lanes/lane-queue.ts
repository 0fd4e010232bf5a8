/**
 * What a lane still has to bring to its target: durable steps in the order of their shards' logs (PROTOCOLS 7). Pure data
 * structure; the lane moves entries through it.
 *
 *   offered → ready → in flight → settled
 *                 ↘        ↓
 *                   behind its run's image → settled, or ready again
 *                   postponed → ready again
 *
 * Invariants
 *  1. `lowest(shard)` is the seq of the oldest row with an entry that is not settled: positions never pass it.
 *  2. Entries of one run leave in their order, and none while the run waits for its image or is postponed.
 *  3. `bytes` is the sum of all that is not settled; a dropped or settled entry is never touched again.
 */
import { epochOf, type Lineage } from '../../cell/history/lineage.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';

export type LaneEntry = {
  readonly shard: ShardId;
  readonly seq: Seq;
  readonly workflowId: string;
  readonly runId: string;
  /** Transition number. */
  readonly number: number;
  readonly epoch: number;
  /** The transition's time: how far behind a lane is counts from it. */
  readonly at: number;
  /** As it travels; shared with other lanes. */
  readonly bytes: Uint8Array;
};

type Row = { entries: number; readonly at: number };

export class LaneQueue {
  #ready: LaneEntry[] = [];
  #flight: LaneEntry[] = [];
  /** Entries of runs that wait for their image, by run id. */
  readonly #behind = new Map<string, LaneEntry[]>();
  /** Entries of runs of which somebody else is to decide, by run id. */
  readonly #postponed = new Map<string, LaneEntry[]>();
  /** All entries that are not settled. */
  readonly #pending = new Set<LaneEntry>();
  /** Per shard its rows with pending entries, oldest first. */
  readonly #rows = new Map<ShardId, Map<Seq, Row>>();
  #bytes = 0;
  #postponements = 0;

  get size(): number {
    return this.#pending.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Entries that could be sent now. */
  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  offer(entry: LaneEntry): void {
    this.#pending.add(entry);
    this.#bytes += entry.bytes.length;
    let rows = this.#rows.get(entry.shard);
    if (rows === undefined) this.#rows.set(entry.shard, (rows = new Map<Seq, Row>()));
    const row = rows.get(entry.seq);
    if (row === undefined) rows.set(entry.seq, { entries: 1, at: entry.at });
    else row.entries += 1;
    this.#ready.push(entry);
  }

  /** The next push: at most so many entries and bytes (at least one, if any is ready). They are in flight then. */
  take(limits: { readonly items: number; readonly bytes: number }): readonly LaneEntry[] {
    let bytes = 0;
    let next = 0;
    for (; next < this.#ready.length && this.#flight.length < limits.items; next += 1) {
      const entry = this.#ready[next];
      if (entry === undefined || !this.#pending.has(entry)) continue;
      const waiting = this.#waitersOf(entry);
      if (waiting !== undefined) {
        waiting.push(entry);
        continue;
      }
      if (this.#flight.length > 0 && bytes + entry.bytes.length > limits.bytes) break;
      bytes += entry.bytes.length;
      this.#flight.push(entry);
    }
    this.#ready.splice(0, next);
    return [...this.#flight];
  }

  /** The push failed: what is not settled or held of it goes first again. */
  giveBack(): void {
    const back = this.#flight.filter(
      (entry) => this.#pending.has(entry) && !this.#waitersOf(entry)?.includes(entry),
    );
    this.#ready = [...back, ...this.#ready];
    this.#flight = [];
  }

  /** The push was answered, and each of its entries settled or held. */
  landed(): void {
    this.#flight = [];
  }

  /** The target has it, or need not; harmless for an entry that was dropped meanwhile. */
  settle(entry: LaneEntry): void {
    if (!this.#pending.delete(entry)) return;
    this.#bytes -= entry.bytes.length;
    const rows = this.#rows.get(entry.shard);
    const row = rows?.get(entry.seq);
    if (rows === undefined || row === undefined) return;
    row.entries -= 1;
    if (row.entries === 0) rows.delete(entry.seq);
    if (rows.size === 0) this.#rows.delete(entry.shard);
  }

  /** The entry, in flight, waits for the image of its run, and all that follows of that run behind it. */
  hold(entry: LaneEntry): void {
    if (!this.#pending.has(entry)) return;
    const waiting = this.#waitersOf(entry);
    if (waiting === undefined) this.#behind.set(entry.runId, [entry]);
    else waiting.push(entry);
  }

  /** The entry, in flight, waits for `resume`, and all that follows of its run behind it; nothing else does. */
  postpone(entry: LaneEntry): void {
    if (!this.#pending.has(entry)) return;
    const waiting = this.#waitersOf(entry);
    if (waiting === undefined) this.#putOff(entry.runId, [entry]);
    else waiting.push(entry);
  }

  /** The run, which waits for its image, waits for `resume` instead. */
  postponeRun(runId: string): void {
    const entries = this.#behind.get(runId);
    if (entries === undefined) return;
    this.#behind.delete(runId);
    this.#putOff(runId, entries);
  }

  #putOff(runId: string, entries: LaneEntry[]): void {
    this.#postponed.set(runId, entries);
    this.#postponements += 1;
  }

  /** How often a run was postponed so far. */
  get postponements(): number {
    return this.#postponements;
  }

  get hasPostponed(): boolean {
    return this.#postponed.size > 0;
  }

  /** What was postponed goes on, first: up to `runs` runs, those that have waited longest. */
  resume(runs: number): void {
    const first: LaneEntry[] = [];
    let left = runs;
    for (const [runId, entries] of this.#postponed) {
      if (left === 0) break;
      left -= 1;
      first.push(...entries);
      this.#postponed.delete(runId);
    }
    if (first.length > 0) this.#ready = [...first, ...this.#ready];
  }

  /** The first waiting entry of up to `count` runs. */
  waiting(count: number): readonly LaneEntry[] {
    const first: LaneEntry[] = [];
    for (const [runId, entries] of this.#behind) {
      const [entry] = entries;
      if (entry === undefined) this.#behind.delete(runId);
      else if (first.push(entry) === count) break;
    }
    return first;
  }

  /**
   * The target has this branch of the run up to this transition: what is behind it goes on, first. So do steps of a branch
   * that has lost here since: the image does not hold them.
   */
  release(runId: string, has: { readonly upTo: number; readonly lineage: Lineage }): void {
    const { upTo, lineage } = has;
    const isIn = ({ number, epoch }: LaneEntry) =>
      number <= upTo && (lineage.length === 0 || epochOf(lineage, number) === epoch);
    const entries = this.#behind.get(runId) ?? [];
    this.#behind.delete(runId);
    // Those that are still in the queue are younger than those that wait.
    this.#ready = [...entries, ...this.#ready].filter((entry) => {
      if (entry.runId === runId && isIn(entry)) this.settle(entry);
      return this.#pending.has(entry);
    });
  }

  /** Settles all that is pending of a run: a dead letter stands for it. */
  dropRun(runId: string): void {
    for (const entry of this.#pending) if (entry.runId === runId) this.settle(entry);
    this.#ready = this.#ready.filter((entry) => this.#pending.has(entry));
    this.#behind.delete(runId);
    this.#postponed.delete(runId);
  }

  /** Forgets what is pending of one shard, or of all. */
  drop(shard?: ShardId): void {
    for (const entry of this.#pending) {
      if (shard === undefined || entry.shard === shard) this.settle(entry);
    }
    const keep = (entry: LaneEntry) => this.#pending.has(entry);
    this.#ready = this.#ready.filter(keep);
    for (const waiting of [this.#behind, this.#postponed]) {
      for (const [runId, entries] of waiting) {
        const left = entries.filter(keep);
        if (left.length === 0) waiting.delete(runId);
        else waiting.set(runId, left);
      }
    }
  }

  /** Seq of the oldest row of a shard with something pending. */
  lowest(shard: ShardId): Seq | undefined {
    return this.#rows.get(shard)?.keys().next().value;
  }

  /** A run waits for one thing at a time. */
  #waitersOf({ runId }: LaneEntry): LaneEntry[] | undefined {
    return this.#behind.get(runId) ?? this.#postponed.get(runId);
  }

  /** Time of the oldest pending transition, of one shard or of all; undefined when there is none. */
  oldestAt(shard?: ShardId): number | undefined {
    let oldest: number | undefined;
    for (const [of, rows] of this.#rows) {
      if (shard !== undefined && of !== shard) continue;
      const first = rows.values().next().value;
      if (first && (oldest === undefined || first.at < oldest)) oldest = first.at;
    }
    return oldest;
  }
}
