import { describe, expect, test } from 'vitest';
import { planRounds } from './rounds.ts';
import { Tally } from './tally.ts';

describe('the tally', () => {
  test('names the kinds that were killed too seldom', () => {
    const tally = new Tally({ checkpoint: 2, PostgreSQL: 1 });
    tally.count('checkpoint');
    expect(tally.missing()).toEqual(['checkpoint: 1 kills of 2', 'PostgreSQL: 0 kills of 1']);
    tally.count('checkpoint');
    tally.count('PostgreSQL');
    expect(tally.missing()).toEqual([]);
    expect(tally.describe()).toContain('checkpoint                         2 of 2');
  });
});

describe('the plan of a torture phase', () => {
  test('holds each step as often as asked, and every moment of a takeover', () => {
    const rounds = planRounds({ stepKills: 10, databaseKills: 4 }, 7);
    const steps = rounds.flatMap((round) => (round.kind === 'step' ? [round.step] : []));
    for (const step of ['append in flight', 'checkpoint', 'truncation']) {
      expect(steps.filter((one) => one === step)).toHaveLength(10);
    }
    const takeovers = rounds.flatMap((round) =>
      round.kind === 'step' && round.takeover ? [round.takeover] : [],
    );
    expect(takeovers).toHaveLength(10);
    expect(new Set(takeovers).size).toBe(3);
    expect(rounds.filter((round) => round.kind === 'database')).toHaveLength(4);
  });

  test('depends on its seed alone, and differs with it', () => {
    const plan = (seed: number) => planRounds({ stepKills: 5, databaseKills: 5 }, seed);
    expect(plan(1)).toEqual(plan(1));
    expect(plan(1)).not.toEqual(plan(2));
  });
});
