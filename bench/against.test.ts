import { expect, test } from 'vitest';
import { agreement, pairOf } from './against.ts';
import { round } from './testing/round.ts';

const measured = {
  'workflows/s': 100,
  'engine CPU ms': 6,
  'PostgreSQL CPU ms': 2,
  'WAL KB': 15,
  'writing tx': 1,
  'outside cores': 0.05,
};

const cells = (lines: readonly string[]) =>
  lines.slice(2).map((line) => line.split(/ {2,}/).filter((cell) => cell !== ''));

test('medians within ten percent agree, others differ, and the machine is only shown', () => {
  const theirs = { ...measured, 'engine CPU ms': 5, 'WAL KB': 15.3, 'outside cores': 1 };
  const wild = { ...measured, 'workflows/s': 1 };
  const lines = agreement(
    'one-activity',
    [measured, wild, measured].map((ours) => ({ ours, theirs, counts: true })),
  );
  expect(cells(lines)).toEqual([
    ['workflows/s', '100', '100', '0.0 %', 'agree'],
    ['engine CPU ms', '6.00', '5.00', '20.0 %', 'DIFFER'],
    ['PostgreSQL CPU ms', '2.00', '2.00', '0.0 %', 'agree'],
    ['WAL KB', '15.0', '15.3', '-2.0 %', 'agree'],
    ['writing tx', '1.00', '1.00', '0.0 %', 'agree'],
    ['outside cores', '0.050', '1.00'],
  ]);
});

test('a pair that does not count is left out; where none counts, the table says so', () => {
  const wild = { ours: { ...measured, 'workflows/s': 1 }, theirs: measured, counts: false };
  const calm = { ours: measured, theirs: measured, counts: true };
  expect(cells(agreement('seq10', [wild, wild, calm]))[0]).toEqual([
    'workflows/s',
    ...['100', '100', '0.0 %', 'agree'],
  ]);
  expect(cells(agreement('seq10', [wild]))[0]?.at(-1)).toBe('does not count');
});

test.each([
  ['counts where nothing failed and nobody else was at work', {}, 0.1, true],
  ['does not count where a call failed', { faults: ['1 calls failed'] }, 0, false],
  ['does not count where others worked beside thin-bench', {}, 0.11, false],
  ['does not count where others worked beside us', { outside: 0.11 }, 0, false],
])('a pair %s', (_, over, outside, counts) => {
  expect(pairOf(round({}, over), { ...measured, 'outside cores': outside }).counts).toBe(counts);
});
