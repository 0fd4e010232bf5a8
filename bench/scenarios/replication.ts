/**
 * The same workflows of one activity with and without a replica of their namespace in another cell: what replication adds
 * to the cell where they run. The copy is made on the same machine, so the rate is what both cells leave each other.
 *
 * Invariant: the two windows of a round take turns in going first, so that neither has the younger database every time.
 */
import type { ProcessName } from '../measure/meter.ts';
import { NAMESPACE } from '../server/engine.ts';
import { REPLICATED } from '../server/replica.ts';
import { roundOf, runActivities, type ActivityRun } from './activities.ts';
import type { Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';

const CLIENTS = 4;

let plays = 0;

export const replication: Scenario = {
  name: 'replication',
  meaning: 'one activity, 4 clients, with and without a replica: CPU of the active cell',
  async run(stage) {
    const replica = await stage.engine.replica();
    stage.meter.watch('replica cell', () => replica.cellPid);
    stage.meter.watch('replica postgres', () => replica.postgresPid);
    plays += 1;
    const order = plays % 2 === 0 ? [REPLICATED, NAMESPACE] : [NAMESPACE, REPLICATED];
    const runs = new Map<string, ActivityRun>();
    for (const namespace of order) runs.set(namespace, await play(stage, namespace));
    const [plain, replicated] = [runs.get(NAMESPACE), runs.get(REPLICATED)];
    if (plain === undefined || replicated === undefined) throw new Error('a window is missing');
    const [without, added] = [ownMs(plain), ownMs(replicated) - ownMs(plain)];
    const each = (name: ProcessName) => replicated.cpuMs(name) - plain.cpuMs(name);
    const round = roundOf(replicated, {
      'replication.rate': replicated.perSecond,
      'replication.rate-without': plain.perSecond,
      'replication.added': (100 * added) / without,
      'replication.cpu-without': without,
      'replication.cpu-cell': each('cell'),
      'replication.cpu-postgres': each('postgres'),
      'replication.cpu-replica':
        replicated.cpuMs('replica cell') + replicated.cpuMs('replica postgres'),
    });
    const other = roundOf(plain, {});
    return {
      ...round,
      costs: [...other.costs, ...round.costs],
      faults: [...other.faults, ...round.faults],
      details: { plain: other.details, replicated: round.details },
    };
  },
};

/** A stage of its own: another namespace, another worker. */
async function play(stage: Stage, namespace: string): Promise<ActivityRun> {
  const own = stage.of(namespace);
  try {
    return await runActivities(own, { steps: 1, clients: CLIENTS });
  } finally {
    await own.clear();
  }
}

/** CPU of the active cell's process and its postmaster, ms a workflow. */
function ownMs(run: ActivityRun): number {
  return run.cpuMs('cell') + run.cpuMs('postgres');
}
