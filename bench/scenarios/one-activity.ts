/** Workflows of one activity, as fast as 64 clients can: what one costs when the machine is full. */
import { roundOf, runActivities } from './activities.ts';
import type { Scenario } from './scenario.ts';

const CLIENTS = 64;

export const oneActivity: Scenario = {
  name: 'one-activity',
  meaning: 'workflows of one activity, closed loop, 64 clients: rate, CPU, statements, WAL',
  elsewhere: ['one-activity', '--clients', String(CLIENTS)],
  async run(stage) {
    const run = await runActivities(stage, { steps: 1, clients: CLIENTS });
    const { cost, cpuMs, each } = run;
    return roundOf(run, {
      'one-activity.rate': run.perSecond,
      'one-activity.cpu': run.serverCpuMs,
      'one-activity.cpu-router': cpuMs('router'),
      'one-activity.cpu-cell': cpuMs('cell'),
      'one-activity.cpu-postgres': cpuMs('postgres'),
      'one-activity.cpu-worker': cpuMs('worker'),
      'one-activity.cpu-load': cpuMs('load'),
      'one-activity.reads': each(cost.statements?.read),
      'one-activity.writes': each(cost.statements?.write),
      'one-activity.transactions': each(cost.writeTransactions),
      'one-activity.wal': each(cost.walBytes) / 1000,
      'one-activity.full-pages': each(cost.fullPageImages),
    });
  },
};
