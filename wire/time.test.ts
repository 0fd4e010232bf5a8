import { describe, expect, test } from 'vitest';
import {
  durationMs,
  optionalDurationMs,
  optionalTimestamp,
  timestampMs,
  toDuration,
  toTimestamp,
} from './time.ts';

const MOST = Number.MAX_SAFE_INTEGER;

describe('durations and timestamps', () => {
  test.each([
    [0, { seconds: 0, nanos: 0 }, { seconds: 0, nanos: 0 }],
    [1500, { seconds: 1, nanos: 500_000_000 }, { seconds: 1, nanos: 500_000_000 }],
    [-1500, { seconds: -1, nanos: -500_000_000 }, { seconds: -2, nanos: 500_000_000 }],
    [365 * 86_400_000, { seconds: 31_536_000, nanos: 0 }, { seconds: 31_536_000, nanos: 0 }],
  ])('%d ms is itself again', (ms, duration, timestamp) => {
    expect(toDuration(ms)).toEqual(duration);
    expect(toTimestamp(ms)).toEqual(timestamp);
    expect(durationMs(duration)).toBe(ms);
    expect(timestampMs(timestamp)).toBe(ms);
  });

  test('what is finer than a millisecond is cut', () => {
    expect(durationMs({ nanos: 1_999_999 })).toBe(1);
    expect(durationMs({ nanos: -1_999_999 })).toBe(-1);
    expect(timestampMs({ seconds: 1, nanos: 1_999_999 })).toBe(1001);
  });

  test('absent is 0, or undefined where that differs', () => {
    expect([durationMs(undefined), timestampMs(undefined)]).toEqual([0, 0]);
    expect([optionalDurationMs(undefined), optionalDurationMs({})]).toEqual([undefined, 0]);
    expect([optionalTimestamp(0), optionalTimestamp(undefined)]).toEqual([undefined, undefined]);
    expect(optionalTimestamp(1000)).toEqual({ seconds: 1, nanos: 0 });
  });

  test('what is beyond a safe integer is clamped, and NaN is 0', () => {
    expect(durationMs({ seconds: MOST })).toBe(MOST);
    expect(durationMs({ seconds: -MOST })).toBe(-MOST);
    expect(durationMs({ seconds: NaN })).toBe(0);
    expect(durationMs(toDuration(Infinity))).toBe(MOST);
  });

  test('an integer object of another library is read', () => {
    expect(durationMs({ seconds: { toNumber: () => 3 } })).toBe(3000);
  });
});
