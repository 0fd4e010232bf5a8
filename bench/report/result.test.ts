import { expect, test } from 'vitest';
import { round } from '../testing/round.ts';
import { objectionsTo, resultsOf } from './result.ts';

test('a result is the median of the rounds', () => {
  const rounds = [90, 110, 100].map((rate) => round({ 'one-activity.rate': rate }));
  expect(resultsOf(rounds)).toEqual([{ name: 'one-activity.rate', value: 100, verdict: 'met' }]);
});

test('rounds with others on the machine or with faults are left out while there are better ones', () => {
  const rounds = [
    round({ 'idle.engine': 0.5 }, { outside: 0.11 }),
    round({ 'idle.engine': 0.01 }, { outside: 0.1 }),
    round({ 'idle.engine': 0.9 }, { faults: ['3 calls failed'] }),
  ];
  expect(resultsOf(rounds)).toEqual([{ name: 'idle.engine', value: 0.01, verdict: 'met' }]);
});

test('when no round counts the figures are told, and that they do not count', () => {
  const rounds = [round({ 'idle.engine': 0.01 }, { outside: 1 })];
  expect(resultsOf(rounds)).toMatchObject([{ value: 0.01, verdict: 'does not count' }]);
});

test('a process that vanished in the window is an objection', () => {
  expect(objectionsTo(round({}, { outside: Number.NaN }))).toEqual(['others used NaN cores']);
});

test.each([
  ['one-activity.cpu', 8, 'met'],
  ['one-activity.cpu', 8.1, 'not met'],
  ['one-activity.rate', 95.9, 'not met'],
  ['one-activity.transactions', 3, 'no aim'],
  ['one-activity.reads', Number.NaN, 'does not count'],
] as const)('%s of %d is %s', (name, value, verdict) => {
  expect(resultsOf([round({ [name]: value })])).toMatchObject([{ name, verdict }]);
});
