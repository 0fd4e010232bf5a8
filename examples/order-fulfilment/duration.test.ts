import { expect, test } from 'vitest';
import { durationMs } from './duration.ts';

test.each([
  ['500ms', 500],
  ['15s', 15_000],
  ['1.5s', 1_500],
  ['2m', 120_000],
  ['14d', 1_209_600_000],
])('%s is %d milliseconds', (text, ms) => {
  expect(durationMs(text)).toBe(ms);
});

test.each(['', '15', 's', '15 weeks', '-1s'])('"%s" is refused with an example', (text) => {
  expect(() => durationMs(text)).toThrow('write 500ms');
});
