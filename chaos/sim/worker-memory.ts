/**
 * What a worker remembers of runs: their events, up to the last task that it answered.
 *
 * Invariants, as of real workers
 *  1. Of a history that came whole it takes what lies behind what it remembers, as workers on sdk-core do, even where the run
 *     has another branch by now: who hands it out has to see to it that such a worker has forgotten the run (docs/protocols.md 9).
 *  2. Events that go on are taken only right behind what is remembered; else the worker asks for the whole history.
 *  3. A task that was held too long puts its old history in the place of no later one.
 */
import type { HistoryEvent } from '../../wire/events.ts';

/** `of`: the task that brought it, counted as they came. */
export type Remembered = { readonly of: number; readonly events: readonly HistoryEvent[] };

const NO_EVENTS: readonly HistoryEvent[] = [];

export class WorkerMemory {
  readonly #histories = new Map<string, Remembered>();

  remember(runId: string, history: Remembered): void {
    const known = this.#histories.get(runId);
    if (!known || known.of < history.of) this.#histories.set(runId, history);
  }

  eventsOf(runId: string): readonly HistoryEvent[] {
    return this.#histories.get(runId)?.events ?? NO_EVENTS;
  }

  /** The whole history with events that a task brought; undefined: what lies before them is not remembered. */
  joined(runId: string, fresh: readonly HistoryEvent[]): readonly HistoryEvent[] | undefined {
    const first = fresh[0]?.eventId ?? 0;
    const known = this.eventsOf(runId);
    if (first > 1 && first !== known.length + 1) return undefined;
    return [...known, ...fresh.filter(({ eventId }) => eventId > known.length)];
  }

  /** The run is not what the worker thought. */
  forget(runId: string): void {
    this.#histories.delete(runId);
  }

  clear(): void {
    this.#histories.clear();
  }
}
