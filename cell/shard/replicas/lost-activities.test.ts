import { expect, test } from 'vitest';
import { activity } from '../../history/testing/inputs.ts';
import { ACTIVITIES, NS, type Host } from '../testing/shard-lab.ts';
import { asIs, forever, image, kinds, placed, twoCells } from '../testing/two-hosts.ts';

/** What the losing branch did of the activity `charge`, of which the other one knows what came before it. */
const DONE: Readonly<Record<string, (host: Host) => Promise<unknown>>> = {
  schedule: (host) => host.work('w', [activity('charge')]),
  start: async (host) => host.startTask(await host.poll(ACTIVITIES)),
  complete: (host) =>
    host.ask('w', {
      kind: 'complete-activity',
      claim: { scheduledEventId: 0, activityId: 'charge', attempt: 1 },
      identity: 'worker',
      result: undefined,
    }),
};

/** `a` did all of `before`, then died and did `after`, of which `b` heard nothing. */
async function parted(before: readonly string[], after: readonly string[]) {
  const cells = await twoCells();
  const { a, b, ship, move } = cells;
  await a.start('w');
  for (const what of before) await DONE[what]?.(a);
  await ship('a');
  move('2@2', 'b');
  a.placement = placed('1@1 active');
  for (const what of after) await DONE[what]?.(a);
  await b.shards.replicas().observe(NS, forever);
  await b.signal('w', 'of-b');
  return cells;
}

test.each([
  [['schedule'], ['start'], 'charge'],
  [['schedule', 'start'], ['complete'], 'charge'],
  [['schedule'], ['start', 'complete'], 'charge'],
  [[], ['schedule', 'start'], 'scheduled by event 5'],
  [[], ['schedule', 'start', 'complete'], 'scheduled by event 5'],
])(
  'after %j an activity of which %j came to nothing may run again: the report says so',
  async (before, after, name) => {
    const { ship, losses } = await parted(before, after);
    expect(new Set(kinds(await ship('a')))).toEqual(new Set(['lost']));
    expect(losses.at(-1)?.execution.mayHaveRunTwice).toEqual([name]);
  },
);

test.each([
  [['schedule', 'start'], ['complete']],
  [[], ['schedule', 'start']],
  [[], ['schedule', 'start', 'complete']],
])('the same, after %j and %j, where the branch comes whole', async (before, after) => {
  const { a, b, losses } = await parted(before, after);
  expect(await b.shards.replicas().adopt(await image(a, 'w'), asIs, forever)).toEqual({
    kind: 'lost',
  });
  expect(losses.at(-1)?.execution.mayHaveRunTwice).toEqual(['charge']);
});
