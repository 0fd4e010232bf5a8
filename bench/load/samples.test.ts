import { expect, test } from 'vitest';
import { median, Samples, summarise } from './samples.ts';

test('percentiles are values that were measured, the highest being the largest', () => {
  const samples = new Samples();
  for (let ms = 1_000; ms >= 1; ms -= 1) samples.add(ms);
  expect(samples.summary()).toEqual({ count: 1_000, p50: 501, p90: 901, p99: 991, max: 1_000 });
});

test('one value is every percentile, and none has none', () => {
  expect(summarise([7])).toEqual({ count: 1, p50: 7, p90: 7, p99: 7, max: 7 });
  expect(summarise([])).toBeUndefined();
});

test('values are compared as numbers and told in microseconds', () => {
  expect(summarise([10, 9, 0.123456])).toMatchObject({ p50: 9, max: 10 });
  expect(summarise([0.123456])).toMatchObject({ p50: 0.123 });
});

test.each([
  [[3], 3],
  [[9, 1, 10], 9],
  [[4, 1, 3, 2], 2.5],
  [[], Number.NaN],
])('the median of %j is %d', (values, middle) => {
  expect(median(values)).toBe(middle);
});
