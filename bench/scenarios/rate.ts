/** Fifteen starts a second, whatever becomes of them: how long things take on a machine that has room. */
import { roundOf, runActivities } from './activities.ts';
import type { Scenario } from './scenario.ts';

const STARTS_PER_SECOND = 15;

export const rate: Scenario = {
  name: 'rate',
  meaning: '15 starts/s, open loop, one activity: start, dispatch and end-to-end latency',
  elsewhere: ['one-activity', '--rate', String(STARTS_PER_SECOND)],
  async run(stage) {
    const run = await runActivities(stage, { steps: 1, perSecond: STARTS_PER_SECOND });
    const { start, endToEnd } = run.load;
    const { dispatch } = run.worker;
    return roundOf(run, {
      'rate.start-p50': start?.p50 ?? Number.NaN,
      'rate.start-p99': start?.p99 ?? Number.NaN,
      'rate.dispatch-p50': dispatch?.p50 ?? Number.NaN,
      'rate.dispatch-p99': dispatch?.p99 ?? Number.NaN,
      'rate.end-p50': endToEnd?.p50 ?? Number.NaN,
      'rate.end-p99': endToEnd?.p99 ?? Number.NaN,
      'rate.cpu': run.serverCpuMs,
    });
  },
};
