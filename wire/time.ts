/**
 * Durations and timestamps of the contract ⇄ milliseconds. Whole milliseconds: what is finer is cut towards the past.
 *
 * Invariants
 *  1. Results are safe integers: what is beyond ±(2^53 - 1) ms is clamped there; NaN never leaves.
 *  2. toDuration and toTimestamp give what the contract demands: a duration's nanos have the sign of its seconds, a
 *     timestamp's are never negative.
 */
import type { Duration, Timestamp } from './plain.ts';

/** A 64-bit integer as a number, or as other protobuf libraries hand it out. */
type Int64 = number | { toNumber(): number };
type Parts = {
  readonly seconds?: Int64 | null | undefined;
  readonly nanos?: number | null | undefined;
};

/** Milliseconds of a duration, 0 when absent. May be negative: who validates decides. */
export function durationMs(duration: Parts | null | undefined): number {
  return isAbsent(duration) ? 0 : Math.trunc(clamp(partsMs(duration)));
}

/** Milliseconds of a duration, undefined when absent: where absent and 0 differ. */
export function optionalDurationMs(duration: Parts | null | undefined): number | undefined {
  return isAbsent(duration) ? undefined : durationMs(duration);
}

export function toDuration(ms: number): Duration {
  const whole = Math.trunc(clamp(ms));
  const seconds = Math.trunc(whole / 1000);
  return { seconds, nanos: (whole - seconds * 1000) * 1_000_000 };
}

/** Milliseconds since 1970 of a timestamp, 0 when absent. */
export function timestampMs(timestamp: Parts | null | undefined): number {
  return isAbsent(timestamp) ? 0 : Math.floor(clamp(partsMs(timestamp)));
}

export function toTimestamp(ms: number): Timestamp {
  const whole = Math.floor(clamp(ms));
  const seconds = Math.floor(whole / 1000);
  return { seconds, nanos: (whole - seconds * 1000) * 1_000_000 };
}

/** A timestamp, or undefined for 0 and undefined, which mean "never" in the engine. */
export function optionalTimestamp(ms: number | undefined): Timestamp | undefined {
  return ms === undefined || ms === 0 ? undefined : toTimestamp(ms);
}

function partsMs({ seconds, nanos }: Parts): number {
  const whole = isAbsent(seconds) ? 0 : typeof seconds === 'number' ? seconds : seconds.toNumber();
  return whole * 1000 + (nanos ?? 0) / 1_000_000;
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

function clamp(ms: number): number {
  if (Number.isNaN(ms)) return 0;
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, ms));
}
