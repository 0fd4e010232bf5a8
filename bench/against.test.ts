import { expect, test } from 'vitest';
import { agreement } from './against.ts';

const measured = {
  'workflows/s': 100,
  'engine CPU ms': 6,
  'PostgreSQL CPU ms': 2,
  'WAL KB': 15,
  'writing tx': 1,
  'outside cores': 0.05,
};

test('medians within ten percent agree, others differ, and the machine is only shown', () => {
  const theirs = { ...measured, 'engine CPU ms': 5, 'WAL KB': 15.3, 'outside cores': 1 };
  const wild = { ...measured, 'workflows/s': 1 };
  const lines = agreement('one-activity', [
    { ours: measured, theirs },
    { ours: wild, theirs },
    { ours: measured, theirs },
  ]);
  expect(lines.slice(2).map((line) => line.split(/ {2,}/).filter((cell) => cell !== ''))).toEqual([
    ['workflows/s', '100', '100', '0.0 %', 'agree'],
    ['engine CPU ms', '6.00', '5.00', '20.0 %', 'DIFFER'],
    ['PostgreSQL CPU ms', '2.00', '2.00', '0.0 %', 'agree'],
    ['WAL KB', '15.0', '15.3', '-2.0 %', 'agree'],
    ['writing tx', '1.00', '1.00', '0.0 %', 'agree'],
    ['outside cores', '0.050', '1.00'],
  ]);
});
