import { expect, test } from 'vitest';
import { planRounds } from './rounds.ts';
import { countedAs, STEPS } from './step.ts';

test.each([1, 2, 3, 10])(
  'a plan of %i kills a step holds so many of each, takeovers too',
  (kills) => {
    const rounds = planRounds({ stepKills: kills, databaseKills: kills }, 7);
    const counts = new Map<string, number>();
    const count = (kind: string) => counts.set(kind, (counts.get(kind) ?? 0) + 1);
    for (const round of rounds) {
      if (round.kind === 'database') count('PostgreSQL');
      else for (const step of [round.step, round.takeover ?? []].flat()) count(countedAs(step));
    }
    const kinds = new Set([...STEPS.map(countedAs), 'PostgreSQL']);
    expect(counts).toEqual(new Map([...counts.keys()].map((kind) => [kind, kills])));
    expect(new Set(counts.keys())).toEqual(kinds);
  },
);

test('ten takeovers are killed at each of their three moments', () => {
  const rounds = planRounds({ stepKills: 10, databaseKills: 0 }, 1);
  const moments = rounds.flatMap((round) => (round.kind === 'step' ? (round.takeover ?? []) : []));
  expect(new Set(moments).size).toBe(3);
});

test('the seed decides the order', () => {
  const size = { stepKills: 10, databaseKills: 10 };
  expect(planRounds(size, 1)).toEqual(planRounds(size, 1));
  expect(planRounds(size, 1)).not.toEqual(planRounds(size, 2));
});
