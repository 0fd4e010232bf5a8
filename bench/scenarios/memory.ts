/** Many open runs that wait for nothing: what each keeps of the engine's memory. */
import { nowMs, sleep } from '../load/time.ts';
import type { Scenario } from './scenario.ts';

const CLIENTS = 64;
const TAKEN_WITHIN_MS = 60_000;
const LOOK_MS = 500;
/** After the last run: what only its start needed is given back. */
const SETTLE_MS = 5_000;

export const memory: Scenario = {
  name: 'memory',
  meaning: '20,000 open runs: memory of router and cell, and of each run',
  // Runs stay open: a second round would measure their checkpoints too.
  mostRounds: 1,
  async run(stage) {
    const count = stage.settings.openRuns;
    const worker = await stage.worker({ activities: false });
    const load = await stage.load({ kind: 'start', type: 'idle', count, clients: CLIENTS });
    const begin = await stage.meter.begin();
    const from = nowMs();
    const started = load.news('finished');
    load.tell({ kind: 'go' });
    await started;
    const until = nowMs() + TAKEN_WITHIN_MS;
    let { workflowTasks } = await worker.report();
    while (workflowTasks < count && nowMs() < until) {
      await sleep(LOOK_MS);
      ({ workflowTasks } = await worker.report());
    }
    const openedPerSecond = (count / (nowMs() - from)) * 1000;
    await sleep(SETTLE_MS);
    const cost = await stage.meter.end(begin);
    const { errors, lastError } = await load.report();
    await stage.clear();
    const { router: routerBefore = 0, cell: cellBefore = 0 } = begin.memoryKb;
    const { router = Number.NaN, cell = Number.NaN } = cost.memoryKb;
    const grownKb = router + cell - routerBefore - cellBefore;
    return {
      figures: {
        'memory.per-run': grownKb / count,
        'memory.resident': (router + cell) / 1024,
        'memory.opened': openedPerSecond,
      },
      costs: [cost],
      faults: [
        ...(errors > 0 ? [`${errors} starts failed: ${lastError}`] : []),
        ...(workflowTasks < count ? [`only ${workflowTasks} of ${count} runs got a task`] : []),
      ],
      details: { count, before: begin.memoryKb },
    };
  },
};
