import { describe, expect, test } from 'vitest';
import type { LostExecution } from '../../cell/shard/replicas/loss.ts';
import { doubled, lostSpanMs, missingOf, unexplained } from './judge.ts';
import type { Acknowledged } from './load.ts';

const start = (runId: string, at = 0): Acknowledged => ({
  ...{ at, what: 'start', workflowId: `w-${runId}`, runId },
});
const signal = (runId: string, token: string, at = 0): Acknowledged => ({
  ...start(runId, at),
  what: 'signal',
  token,
});
const reported = (runId: string): LostExecution => ({
  ...{ workflowId: `w-${runId}`, runId, outcome: 'rolled-back' },
  ...{ transitions: { from: 1, to: 2, epoch: 1 }, rolledBack: [] },
  ...{ reapplied: [], mayHaveRunTwice: [] },
});

describe('the judge of a game day', () => {
  const log = [start('1'), signal('1', 'a', 10), signal('1', 'b', 20), start('2', 15)];
  const read = [
    { runId: '1', tokens: ['a'] },
    { runId: '2', tokens: undefined },
  ];

  test('misses signals that no history holds, and runs that nobody knows', () => {
    expect(missingOf(log, read)).toEqual([log[2], log[3]]);
    expect(lostSpanMs(missingOf(log, read), 40)).toBe(25);
    expect(lostSpanMs([], 40)).toBe(0);
  });

  test('lets the loss report explain a run, and nothing else', () => {
    const missing = missingOf(log, read);
    expect(unexplained(missing, { executions: [] })).toEqual(missing);
    expect(unexplained(missing, { executions: [reported('2')] })).toEqual([log[2]]);
    expect(unexplained(missing, { executions: [reported('2'), reported('1')] })).toEqual([]);
  });

  test('sees a signal that was applied twice', () => {
    expect(doubled([{ runId: '1', tokens: ['a', 'b', 'a'] }])).toEqual(['a']);
    expect(doubled(read)).toEqual([]);
  });
});
