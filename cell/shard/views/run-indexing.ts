/**
 * Brings committed states of a shard's runs to visibility (D5): queued in memory, remembered by a task row of the run
 * (`INDEX_WORK`) until the index acknowledged it.
 *
 * Invariants
 *  1. A run is kept in memory while a row of it is queued, so that the acknowledgement finds the run and no copy of it.
 *  2. What found no room is brought back from the task view after a pause.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { indexRow } from '../../history/history.ts';
import type { CachedRun } from '../runs/cached.ts';
import type { IndexWriter } from './index-writer.ts';
import { INDEX_WORK } from './work-rows.ts';

const TRY_AGAIN_MS = 5_000;

export class RunIndexing {
  readonly #writer: IndexWriter;
  readonly #clock: Clock;
  readonly #markDirty: (run: CachedRun) => void;
  readonly #readTasks: () => void;
  #waitsForRoom = false;

  constructor(options: {
    readonly writer: IndexWriter;
    readonly clock: Clock;
    /** The run's task row must go. */
    readonly markDirty: (run: CachedRun) => void;
    /** The task view names runs to be indexed again. */
    readonly readTasks: () => void;
  }) {
    this.#writer = options.writer;
    this.#clock = options.clock;
    this.#markDirty = options.markDirty;
    this.#readTasks = options.readTasks;
  }

  /** Has visibility show the run's committed state; until it does, a task row remembers it. */
  want(run: CachedRun): void {
    const state = run.committed;
    if (!state) return;
    run.indexWanted = state.transition;
    const queued = this.#writer.add(indexRow(state), () =>
      this.#acknowledged(run, state.transition),
    );
    run.indexQueued = queued ? state.transition : 0;
    if (!queued) this.#tryAgain();
  }

  /** A task row says that the index has not acknowledged the run's last change. */
  again(run: CachedRun): void {
    if (run.indexQueued > 0) return;
    if (!run.storedWork.has(INDEX_WORK)) {
      run.storedWork = new Map([...run.storedWork, [INDEX_WORK, undefined]]);
    }
    this.want(run);
  }

  #acknowledged(run: CachedRun, transition: number): void {
    run.indexed = Math.max(run.indexed, transition);
    if (run.indexQueued === transition) run.indexQueued = 0;
    if (run.storedWork.has(INDEX_WORK) && run.indexed >= run.indexWanted) this.#markDirty(run);
  }

  #tryAgain(): void {
    if (this.#waitsForRoom) return;
    this.#waitsForRoom = true;
    this.#clock.after(TRY_AGAIN_MS, () => {
      this.#waitsForRoom = false;
      this.#readTasks();
    });
  }
}
