import { expect, test } from 'vitest';
import { isSaidByEnd, joined, singly, staysTaken, type LedgerEntry } from './execution.ts';

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

test('what is known of a request is the same in whatever order it was heard, and nothing is heard twice', () => {
  const [first, second, said] = [taken('a', 1), taken('b', 2), taken('b', 3, 2)];
  const all = (...entries: readonly LedgerEntry[]) =>
    entries.reduce<LedgerEntry | undefined>(joined, undefined);
  const known = all(first, second, said);
  expect(known && singly(known)).toEqual([said, second, first]);
  expect(all(said, first, second)).toEqual(known);
  expect(all(second, joined(said, first))).toEqual(known);
  expect(known && joined(known, joined(second, first))).toBe(known);
});

test('of one request no more is kept than has a bound', () => {
  const entries = Array.from({ length: 50 }, (_, at) => taken(`r${at}`, at));
  const known = entries.reduce<LedgerEntry | undefined>(joined, undefined);
  expect(known && singly(known).map(({ at }) => at)).toEqual([49, 48, 47, 46, 45, 44, 43, 42, 41]);
});

test('what the ends of two runs said alike is known of each', () => {
  const [one, other] = ['one', 'other'].map((by) => ({ ...taken('last', 3, 2), by }));
  const known = [one, other].reduce<LedgerEntry | undefined>(
    (sum, entry) => (entry ? joined(sum, entry) : sum),
    undefined,
  );
  const entries = known ? singly(known) : [];
  expect(entries).toEqual([other, one]);
  const ended = { runId: 'other', epoch: 2, start: { requestId: 'r' }, closedAt: 3 };
  expect(entries.filter((entry) => isSaidByEnd(ended, entry))).toEqual([other]);
});
