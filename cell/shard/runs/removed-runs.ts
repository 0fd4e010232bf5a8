/**
 * Runs and workflow ids that were removed and whose rows are still in the views: they are not there, but the store would
 * say otherwise.
 *
 * Place: the shard's memory waits here before it loads one; the checkpoint that deletes the rows settles them.
 *
 * Invariant: whoever loads a removed key waits until its rows are gone, so that nothing is made of them, and so that no
 * checkpoint puts a row that it also deletes.
 */
import type { TimerRow } from '../../storage/views.ts';
import type { Removal } from '../log/record-codec.ts';

/** What the next checkpoint deletes. */
export type Removed = { readonly removal: Removal; readonly timers: readonly TimerRow[] };

type Key = { readonly namespaceId: string; readonly workflowId: string; readonly runId?: string };

export class RemovedRuns {
  readonly #removed = new Map<string, Removed>();
  #waiting: (() => void)[] = [];
  #isReleased = false;

  get size(): number {
    return this.#removed.size;
  }

  all(): readonly Removed[] {
    return [...this.#removed.values()];
  }

  add(removed: Removed): void {
    this.#removed.set(removed.removal.runId, removed);
  }

  /** The rows of these are deleted. */
  settle(some: readonly Removed[]): void {
    for (const { removal } of some) this.#removed.delete(removal.runId);
    this.#wake();
  }

  /** The ownership ended: nobody waits any more. */
  release(): void {
    this.#isReleased = true;
    this.#wake();
  }

  /** Resolves at once unless the run, or with it its workflow id, is removed and its rows are still there. */
  async settled(key: Key): Promise<void> {
    while (!this.#isReleased && this.#holds(key)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #holds({ namespaceId, workflowId, runId }: Key): boolean {
    if (this.#removed.size === 0) return false;
    if (runId !== undefined && this.#removed.has(runId)) return true;
    return this.all().some(
      ({ removal }) =>
        removal.execution &&
        removal.workflowId === workflowId &&
        removal.namespaceId === namespaceId,
    );
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
