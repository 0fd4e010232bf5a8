/**
 * A Clock whose time moves only when a test or the simulator says so (D12, D16).
 *
 * Place: handed to any part instead of `systemClock`. The wall clock and the monotonic clock are apart, so
 * that a test can let the wall jump without any alarm noticing.
 *
 * Invariants
 *  1. Alarms ring in order of due time, then of setting, each at a monotonic time of exactly its due time.
 *  2. `monotonicMs` never falls; only `jumpWallBy` moves `now` apart from it.
 *  3. Nothing rings outside `advance`, `run…` and `settle`-ing calls: a callback never runs inside `after`.
 */
import type { CancelAlarm, Clock, EpochMs } from '../clock.ts';
import { invariant } from '../invariant.ts';
import { AlarmHeap } from './alarm-heap.ts';

const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** 2026-01-01T00:00:00Z: a start that reads well in failures. */
export const VIRTUAL_EPOCH_MS: EpochMs = Date.UTC(2026, 0, 1);

/** Where `runUntilIdle` gives up: a periodic alarm would keep it going for ever. */
export type IdleBounds = {
  /** Alarms that may ring, 10,000 by default. */
  readonly maxAlarms?: number;
  /** Virtual milliseconds that may pass, unbounded by default. Alarms due later stay pending. */
  readonly maxMs?: number;
};

export class VirtualClock implements Clock {
  readonly #alarms = new AlarmHeap();
  #monotonicMs = 0;
  #wallOffsetMs: number;

  /** @param startMs the wall clock at monotonic time 0 */
  constructor(startMs: EpochMs = VIRTUAL_EPOCH_MS) {
    this.#wallOffsetMs = startMs;
  }

  now(): EpochMs {
    return this.#wallOffsetMs + this.#monotonicMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  after(delayMs: number, alarm: () => void): CancelAlarm {
    // As on the machine: an impossible delay is a bug of the caller, a negative one is due at once.
    invariant(!Number.isNaN(delayMs), 'an alarm after NaN milliseconds');
    const delay = Math.min(Math.max(0, delayMs), LONGEST_DELAY_MS);
    const entry = this.#alarms.add(this.#monotonicMs + delay, alarm);
    return () => this.#alarms.cancel(entry);
  }

  /** Moves the wall clock alone, forwards or backwards; alarms do not notice. */
  jumpWallBy(deltaMs: number): void {
    this.#wallOffsetMs += deltaMs;
  }

  /** Monotonic due times of the alarms that may still ring, earliest first. */
  get pendingAlarms(): readonly number[] {
    return this.#alarms.dueTimes();
  }

  /** How many alarms may still ring; cheap. */
  get pendingCount(): number {
    return this.#alarms.size;
  }

  /** When the next alarm is due, monotonic; undefined when none is set. */
  nextAlarmMs(): number | undefined {
    return this.#alarms.nextDueMs();
  }

  /** Lets `ms` pass and rings what falls due, also what those alarms set. Promises do not run meanwhile. */
  advance(ms: number): void {
    invariant(ms >= 0, `time cannot pass by ${ms} ms`);
    const endMs = this.#monotonicMs + ms;
    while (this.#ringNext(endMs));
    this.#monotonicMs = endMs;
  }

  /** As `advance`, and lets promises settle before, between and after the alarms. */
  async advanceSettled(ms: number): Promise<void> {
    invariant(ms >= 0, `time cannot pass by ${ms} ms`);
    const endMs = this.#monotonicMs + ms;
    do await settlePromises();
    while (this.#ringNext(endMs));
    this.#monotonicMs = endMs;
  }

  /** Moves to the next alarm and rings it alone; false when none is set. For schedulers of their own. */
  runNext(): boolean {
    return this.#ringNext(Number.POSITIVE_INFINITY);
  }

  /**
   * Rings alarm after alarm, letting promises settle between, until none is left or a bound is met.
   * @returns `idle` when nothing is left that could happen, else the bound that ended it
   */
  async runUntilIdle(bounds: IdleBounds = {}): Promise<'idle' | 'max-alarms' | 'max-ms'> {
    const maxAlarms = bounds.maxAlarms ?? 10_000;
    const endMs = this.#monotonicMs + (bounds.maxMs ?? Number.POSITIVE_INFINITY);
    for (let rung = 0; ; rung++) {
      await settlePromises();
      if (this.#alarms.size === 0) return 'idle';
      if (rung === maxAlarms) return 'max-alarms';
      if (!this.#ringNext(endMs)) {
        this.#monotonicMs = endMs;
        return 'max-ms';
      }
    }
  }

  #ringNext(limitMs: number): boolean {
    const dueMs = this.#alarms.nextDueMs();
    if (dueMs === undefined || dueMs > limitMs) return false;
    const ring = this.#alarms.takeDue(dueMs);
    invariant(ring !== undefined, 'the next alarm was not due at its own time');
    invariant(dueMs >= this.#monotonicMs, 'an alarm was left behind');
    this.#monotonicMs = dueMs;
    ring();
    return true;
  }
}

/** Resolves when every promise chain that can go on without I/O or an alarm has done so. */
export function settlePromises(): Promise<void> {
  // Node drains all microtasks before it turns to immediates, however long the chains are.
  return new Promise((resolve) => setImmediate(resolve));
}
