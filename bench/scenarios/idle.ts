/** An engine that has worked and has nothing left to do: the CPU that it uses all the same. */
import { sleep } from '../load/time.ts';
import type { Scenario } from './scenario.ts';

const CLIENTS = 8;
const WORK_MS = 2_000;
/** Until what the work left behind is checkpointed and caches are given back. */
const SETTLE_MS = 10_000;

export const idle: Scenario = {
  name: 'idle',
  meaning: 'CPU of an engine with nothing to do, after some work',
  async run(stage) {
    await stage.worker();
    const work = { kind: 'closed-loop', type: 'activities-1', clients: CLIENTS } as const;
    const load = await stage.load(work);
    load.tell({ kind: 'go' });
    await sleep(WORK_MS);
    await stage.clear();
    await sleep(SETTLE_MS);
    const begin = await stage.meter.begin();
    await sleep(stage.settings.seconds * 1000);
    const cost = await stage.meter.end(begin);
    const { router = Number.NaN, cell = Number.NaN, postgres = Number.NaN } = cost.cpuSeconds;
    return {
      figures: {
        'idle.engine': (router + cell) / cost.seconds,
        'idle.postgres': postgres / cost.seconds,
      },
      costs: [cost],
      faults: [],
      details: {},
    };
  },
};
