import { expect, test } from 'vitest';
import { staysTaken, type LedgerEntry } from './execution.ts';

const taken = (runId: string, at: number, epoch?: number): LedgerEntry => ({
  requestId: 'r',
  kind: 'start',
  runId,
  at,
  epoch,
});

test('of two runs that took a request the same one keeps it, whatever order they come in', () => {
  const pairs: readonly (readonly [LedgerEntry, LedgerEntry])[] = [
    [taken('a', 1), taken('b', 2)],
    [taken('b', 1), taken('a', 2)],
    [taken('a', 1), taken('b', 1)],
    [taken('a', 1, 3), taken('b', 1)],
    [taken('a', 1, 3), taken('b', 1, 4)],
    [taken('b', 1, 3), taken('a', 1, 4)],
  ];
  for (const [one, other] of pairs) {
    const keeps = (known: LedgerEntry, entry: LedgerEntry) =>
      staysTaken(known, entry) ? known : entry;
    expect(keeps(one, other)).toEqual(keeps(other, one));
  }
});

test('of two runs that were said to have taken a request at one time the one of the later epoch keeps it', () => {
  expect(staysTaken(taken('b', 1, 3), taken('a', 1, 4))).toBe(false);
  expect(staysTaken(taken('a', 1, 4), taken('b', 1, 3))).toBe(true);
  expect(staysTaken(taken('b', 2, 3), taken('a', 1, 4))).toBe(true);
});

test('a request that nobody took is taken by whoever comes', () => {
  expect(staysTaken(undefined, taken('a', 1))).toBe(false);
});
