/**
 * A page of a run's stored history, from the views and, where memory has it, from recent chunks.
 *
 * Invariants
 *  1. Events follow one another without a gap, also while a checkpoint moves them from memory to the views.
 *  2. They are of one branch, also while another one is adopted in its place.
 */
import { invariant } from '../../../kernel/invariant.ts';
import { scanEvents, sliceEvents } from '../../../wire/event-scan.ts';
import type { HistoryRow } from '../../storage/views.ts';
import type { CachedRun, Chunk } from './cached.ts';
import type { HistoryPage } from '../engine.ts';

export type HistoryRange = {
  /** Under which the branch's rows lie: the run's own, or that of a branch which lost since. */
  readonly historyId: string;
  readonly fromEventId: number;
  readonly toEventId: number;
  readonly maxBytes: number;
};

type Stored = (fromEventId: number, maxBytes: number) => Promise<readonly HistoryRow[]>;

/** Committed events of the range, at most about `maxBytes` (at least one chunk if any). */
export async function readHistory(
  run: CachedRun,
  range: HistoryRange,
  stored: Stored,
): Promise<HistoryPage> {
  const { historyId } = range;
  const committed =
    run.branch.historyId === historyId ? (run.committed?.nextEventId ?? 1) : undefined;
  const to = committed === undefined ? range.toEventId : Math.min(range.toEventId, committed - 1);
  const page = new PageBuilder(range.fromEventId, to, range.maxBytes);
  while (!page.full) {
    const before = page.next;
    // Looked for anew after each read: what was in memory may be in the views alone by now.
    const chunks = chunksOf(run, historyId);
    const at = chunks.findIndex((chunk) => chunk.first <= before && before <= chunk.last);
    if (at >= 0) page.take(chunks.slice(at));
    else page.take((await stored(before, page.room)).map(chunkOf));
    invariant(page.next > before, `history of run ${run.ref.runId} ends before event ${before}`);
  }
  return { chunks: page.chunks, fromEventId: range.fromEventId, toEventId: page.next - 1 };
}

/** What memory has of that branch. */
function chunksOf(run: CachedRun, historyId: string): readonly Chunk[] {
  if (run.branch.historyId === historyId) return run.chunks;
  return run.lostChunks.flatMap((lost) => (lost.historyId === historyId ? [lost.chunk] : []));
}

class PageBuilder {
  readonly chunks: Uint8Array[] = [];
  readonly #to: number;
  #next: number;
  #room: number;

  constructor(from: number, to: number, maxBytes: number) {
    this.#next = from;
    this.#to = to;
    this.#room = maxBytes;
  }

  /** The first event that the page lacks. */
  get next(): number {
    return this.#next;
  }

  get room(): number {
    return Math.max(1, this.#room);
  }

  get full(): boolean {
    return this.#next > this.#to || this.#room <= 0;
  }

  /** Takes chunks as long as they follow without a gap and there is room. */
  take(chunks: readonly Chunk[]): void {
    for (const chunk of chunks) {
      if (chunk.last < this.#next) continue;
      if (this.full || chunk.first > this.#next) return;
      const last = Math.min(chunk.last, this.#to);
      const whole = chunk.first === this.#next && last === chunk.last;
      const events = whole ? chunk.events : sliceEvents(chunk.events, this.#next, last);
      this.#add(events, last);
    }
  }

  /** Of events up to `last` as many as there is room for, one at least: one transition may be larger than a page. */
  #add(events: Uint8Array, last: number): void {
    if (events.length <= this.#room) {
      this.chunks.push(events);
      this.#room -= events.length;
      this.#next = last + 1;
      return;
    }
    const ranges = scanEvents(events);
    const kept = ranges.findLast(({ end }) => end <= this.#room) ?? ranges[0];
    invariant(kept !== undefined, `a chunk without events up to event ${last}`);
    this.chunks.push(events.subarray(0, kept.end));
    this.#room = 0;
    this.#next = kept.eventId + 1;
  }
}

function chunkOf(row: HistoryRow): Chunk {
  return { first: row.firstEventId, last: row.lastEventId, events: row.events };
}
