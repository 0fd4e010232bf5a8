/** Ten activities one after another for one client: how long a chain of steps takes when nobody else is there. */
import { roundOf, runActivities } from './activities.ts';
import type { Scenario } from './scenario.ts';

export const seq10: Scenario = {
  name: 'seq10',
  meaning: 'ten activities in a row, one client at a time',
  elsewhere: ['seq10'],
  async run(stage) {
    const run = await runActivities(stage, { steps: 10, clients: 1 });
    return roundOf(run, {
      'seq10.end-p50': run.load.endToEnd?.p50 ?? Number.NaN,
      'seq10.end-p99': run.load.endToEnd?.p99 ?? Number.NaN,
    });
  },
};
