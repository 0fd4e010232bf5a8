/**
 * Time as a port (D12, D16): wall clock, monotonic clock and alarms. Everything outside `kernel/` and `bin/`
 * takes a Clock; the simulator hands it virtual time.
 *
 * Invariants
 *  1. An alarm never runs before its delay has passed on the monotonic clock, and at most once.
 *  2. A cancelled alarm never runs.
 */

/** Milliseconds since 1970-01-01 UTC. */
export type EpochMs = number;

/** Stops an alarm that has not run yet; harmless afterwards. */
export type CancelAlarm = () => void;

export interface Clock {
  /** The wall clock. May jump in both directions (D16). */
  now(): EpochMs;
  /** Milliseconds that only grow, from an arbitrary origin: for durations and deadlines. */
  monotonicMs(): number;
  /** Runs `alarm` once after `delayMs` (clamped to 0 … 2^31-1), unless cancelled. Does not keep the process alive. */
  after(delayMs: number, alarm: () => void): CancelAlarm;
}

const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, alarm) {
    const handle = setTimeout(alarm, Math.min(Math.max(0, delayMs), LONGEST_DELAY_MS));
    handle.unref();
    return () => clearTimeout(handle);
  },
};

/** Resolves after `delayMs`, or rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(asError(signal.reason));
    const onAbort = () => {
      cancel();
      reject(asError(signal?.reason));
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
