/**
 * What this cell knows of the cells that replicate to it: when each was last heard, and what each said it still holds.
 * The estimate of a loss (D10) is made of it.
 *
 * Invariants
 *  1. Bounded by the map: one entry per source, one per source and namespace that both cells keep.
 *  2. It is memory only. After a start `heardMsAgo` counts from the start: at least so long ago.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { LossEstimate } from '../control/control.ts';
import type { LaneBacklog } from '../peer.ts';

type Backlog = Omit<LaneBacklog, 'namespaceId'>;

export class SourceReports {
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #heardMs = new Map<string, number>();
  readonly #backlogs = new Map<string, Map<string, Backlog>>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /** The time here, whole ms since 1970. */
  now(): number {
    return Math.round(this.#clock.now());
  }

  /** The source spoke; `backlogs` is what changed of what it holds. */
  heard(source: string, backlogs: readonly LaneBacklog[]): void {
    this.#heardMs.set(source, this.#clock.monotonicMs());
    let known = this.#backlogs.get(source);
    if (known === undefined) this.#backlogs.set(source, (known = new Map<string, Backlog>()));
    for (const { namespaceId, ...backlog } of backlogs) {
      if (backlog.pending === 0) known.delete(namespaceId);
      else known.set(namespaceId, backlog);
    }
  }

  /** What would be missing here of that source's writes if it never spoke again. */
  estimate(source: string, namespaceId: string): LossEstimate {
    const backlog = this.#backlogs.get(source)?.get(namespaceId);
    const heardMs = this.#heardMs.get(source);
    const age = backlog?.oldestAt === undefined ? 0 : this.#clock.now() - backlog.oldestAt;
    return {
      source,
      heardMsAgo: this.#clock.monotonicMs() - (heardMs ?? this.#startedMs),
      unheard: heardMs === undefined,
      knownMissing: backlog?.pending ?? 0,
      lagMs: Math.max(0, age),
      copy: backlog?.copy && { ...backlog.copy, since: backlog.oldestAt },
    };
  }
}
