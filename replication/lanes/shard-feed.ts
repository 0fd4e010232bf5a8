/**
 * One open shard as the lanes see it: its last committed row, and the rows that are being read from its log for lanes
 * that are behind (PROTOCOLS 7).
 *
 * Invariants
 *  1. While rows are read, those that commit are kept, in order, up to `loadingBytes`; beyond that reading is given up
 *     (the lanes copy).
 *  2. `rowsAfter` is without holes from the position to the shard's last row, or undefined: not all were to be had.
 */
import type { ReplicatedStep } from '../../cell/shard/replicas/replicas.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import type { SavedPosition } from './lane-positions.ts';
import type { LaneKey } from './lanes-of-map.ts';

export type FedRow = { readonly seq: Seq; readonly steps: readonly ReplicatedStep[] };

/** What a step weighs beside its events. */
const STEP_BYTES = 500;

export class ShardFeed {
  readonly shard: ShardId;
  readonly #closing = new AbortController();
  readonly #saved = new Map<string, SavedPosition>();
  #since: FedRow[] | undefined;
  #sinceBytes = 0;

  constructor(shard: ShardId, saved: readonly SavedPosition[]) {
    this.shard = shard;
    for (const position of saved) this.#saved.set(keyOf(position), position);
  }

  /** Aborts when the shard is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  close(reason: Error): void {
    this.#closing.abort(reason);
  }

  savedOf(lane: LaneKey): SavedPosition | undefined {
    return this.#saved.get(keyOf(lane));
  }

  /** The lane ended: what was saved of it must not serve another one of its name. */
  forget(lane: LaneKey): void {
    this.#saved.delete(keyOf(lane));
  }

  get isLoading(): boolean {
    return this.#since !== undefined;
  }

  /** From now on rows that commit are kept. */
  beginLoading(): void {
    this.#since = [];
    this.#sinceBytes = 0;
  }

  /** A row committed. False when too many wait: reading is to be given up. */
  keep(row: FedRow, limitBytes: number): boolean {
    if (this.#since === undefined) return true;
    this.#since.push(row);
    this.#sinceBytes += bytesOf(row);
    return this.#sinceBytes <= limitBytes;
  }

  /** What was read, and what has committed since. Ends loading. */
  endLoading(read: readonly FedRow[]): readonly FedRow[] {
    const last = read.at(-1)?.seq ?? 0;
    const rows = [...read, ...(this.#since ?? []).filter(({ seq }) => seq > last)];
    this.#since = undefined;
    this.#sinceBytes = 0;
    return rows;
  }
}

/** What the row weighs in memory, near enough. */
export function bytesOf({ steps }: FedRow): number {
  return steps.reduce((sum, { events }) => sum + events.length + STEP_BYTES, 0);
}

/** The rows above a position up to `end`, the shard's last one, or undefined when one of them is missing. */
export function rowsAfter(
  rows: readonly FedRow[],
  { after, end }: { readonly after: Seq; readonly end: Seq },
): readonly FedRow[] | undefined {
  // A row that has landed and was not heard of yet is told when it is.
  const above = rows.filter(({ seq }) => seq > after && seq <= end);
  const isWhole = above.every(({ seq }, i) => seq === after + 1 + i);
  return isWhole && after + above.length === end ? above : undefined;
}

export function keyOf(lane: LaneKey): string {
  return `${lane.namespaceId}/${lane.target}`;
}
