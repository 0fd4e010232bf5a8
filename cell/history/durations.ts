/**
 * The contract's durations as milliseconds and back. Time in the core is whole milliseconds (D16): a duration is
 * rounded up, so that nothing that waits for it comes early.
 */
import type { Duration } from '../../wire/plain.ts';

/** The longest duration the core counts with, 100 years: sums with a time stay safe integers. */
export const LONGEST_MS = 100 * 365 * 24 * 3_600_000;

/** Whole milliseconds, rounded up, at most LONGEST_MS; 0 where unset. Negative durations stay negative. */
export function durationMs(duration: Duration | undefined): number {
  if (duration === undefined) return 0;
  const ms = Math.ceil((duration.seconds ?? 0) * 1000 + (duration.nanos ?? 0) / 1_000_000);
  return Math.min(ms, LONGEST_MS);
}

/** Never null: SDKs require durations to be present in events. */
export function toDuration(ms: number): Duration {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: (ms - seconds * 1000) * 1_000_000 };
}
