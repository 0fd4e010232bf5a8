import { expect, test } from 'vitest';
import { staysTaken, type LedgerEntry } from './execution.ts';

const taken = (runId: string, at: number): LedgerEntry => ({
  requestId: 'r',
  kind: 'start',
  runId,
  at,
});

test('of two runs that took a request the same one keeps it, whatever order they come in', () => {
  const pairs: readonly (readonly [LedgerEntry, LedgerEntry])[] = [
    [taken('a', 1), taken('b', 2)],
    [taken('b', 1), taken('a', 2)],
    [taken('a', 1), taken('b', 1)],
  ];
  for (const [one, other] of pairs) {
    const keeps = (known: LedgerEntry, entry: LedgerEntry) =>
      staysTaken(known, entry) ? known : entry;
    expect(keeps(one, other)).toEqual(keeps(other, one));
  }
});

test('a request that nobody took is taken by whoever comes', () => {
  expect(staysTaken(undefined, taken('a', 1))).toBe(false);
});
