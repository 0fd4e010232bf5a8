/**
 * The one time of a simulated world, and the loop that turns it (D12).
 *
 * Place: everything that waits in a simulated world waits here: hosts through their HostClock, the network, the store,
 * clients and workers directly. Its wall clock is the true one; hosts have their own, which may be wrong.
 *
 * Invariants
 *  1. One event runs at a time, and every promise that can go on has done so before the next.
 *  2. Events run in order of time, then of setting: the same setters give the same order.
 */
import type { CancelAlarm, Clock, EpochMs } from '../../kernel/clock.ts';
import { invariant } from '../../kernel/invariant.ts';
import { AlarmHeap } from '../../kernel/testing/alarm-heap.ts';
import { settlePromises, VIRTUAL_EPOCH_MS } from '../../kernel/testing/virtual-clock.ts';

export class WorldTime implements Clock {
  readonly #alarms = new AlarmHeap();
  #nowMs = 0;
  #events = 0;

  /** Whole milliseconds, as machines tell them. */
  now(): EpochMs {
    return VIRTUAL_EPOCH_MS + Math.floor(this.#nowMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  /** Events that ran so far. */
  get events(): number {
    return this.#events;
  }

  after(delayMs: number, alarm: () => void): CancelAlarm {
    invariant(!Number.isNaN(delayMs), 'an alarm after NaN milliseconds');
    const entry = this.#alarms.add(this.#nowMs + Math.max(0, delayMs), alarm);
    return () => this.#alarms.cancel(entry);
  }

  /**
   * Runs events until `done` says so, nothing is left, or time or events are used up.
   * @returns true when `done` was met
   */
  async run(done: () => boolean, bounds: { untilMs: number; maxEvents: number }): Promise<boolean> {
    await settlePromises();
    while (!done()) {
      const dueMs = this.#alarms.nextDueMs();
      if (dueMs === undefined || dueMs > bounds.untilMs || this.#events >= bounds.maxEvents) {
        return false;
      }
      this.#nowMs = dueMs;
      this.#events += 1;
      this.#alarms.takeDue(dueMs)?.();
      await settlePromises();
    }
    return true;
  }
}
