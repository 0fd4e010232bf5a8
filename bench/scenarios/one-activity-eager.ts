/** The same as one-activity, with the activity handed back in the answer to the workflow task that schedules it. */
import { roundOf, runActivities } from './activities.ts';
import type { Scenario } from './scenario.ts';

const CLIENTS = 64;

export const oneActivityEager: Scenario = {
  name: 'one-activity-eager',
  meaning: 'the same with eager dispatch of activities',
  elsewhere: ['one-activity', '--clients', String(CLIENTS), '--eager', 'on'],
  async run(stage) {
    const run = await runActivities(stage, { steps: 1, clients: CLIENTS, eager: true });
    const { eagerActivities, activityTasks } = run.worker;
    return roundOf(run, {
      'one-activity-eager.rate': run.perSecond,
      'one-activity-eager.cpu': run.serverCpuMs,
      'one-activity-eager.share': (100 * eagerActivities) / activityTasks,
    });
  },
};
