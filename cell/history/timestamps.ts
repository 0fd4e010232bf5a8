/** The contract's timestamps as milliseconds since 1970 and back. Time in the core is whole milliseconds (D16). */
import type { Timestamp } from '../../wire/plain.ts';
import type { EpochMs } from './state.ts';

/** Whole milliseconds, rounded up; 0 where unset. */
export function timestampMs(timestamp: Timestamp | undefined): EpochMs {
  if (timestamp === undefined) return 0;
  return (timestamp.seconds ?? 0) * 1000 + Math.ceil((timestamp.nanos ?? 0) / 1_000_000);
}

export function toTimestamp(ms: EpochMs): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: (ms - seconds * 1000) * 1_000_000 };
}
