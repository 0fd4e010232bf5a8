import { describe, expect, test } from 'vitest';
import { formatTimeout, parseTimeout } from './timeout.ts';

describe('grpc-timeout', () => {
  test.each([
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['3S', 3_000],
    ['4m', 4],
    ['5000u', 5],
    ['6000000n', 6],
    ['99999999m', 99_999_999],
    ['0m', 0],
  ])('%s is %d ms', (header, ms) => {
    expect(parseTimeout(header)).toBeCloseTo(ms, 6);
  });

  test.each([undefined, '', '5', 'm', '123456789m', '-1m', '1.5S', '1h'])(
    '%j is no deadline',
    (header) => {
      expect(parseTimeout(header)).toBeUndefined();
    },
  );

  test.each([
    [0, '1m'],
    [0.2, '1m'],
    [1500.1, '1501m'],
    [99_999_999, '99999999m'],
    [365 * 86_400_000, '31536000S'],
    [Number.MAX_SAFE_INTEGER, '99999999H'],
  ])('%d ms are written as %s', (ms, header) => {
    expect(formatTimeout(ms)).toBe(header);
  });
});
