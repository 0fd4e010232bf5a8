/** Five hundred timers of as many runs, all due in the same instant: how fast they are delivered. */
import { nowMs, sleep } from '../load/time.ts';
import type { Party } from '../load/party.ts';
import type { WorkerReport } from '../load/messages.ts';
import type { Scenario } from './scenario.ts';

const TIMERS = 500;
const CLIENTS = 64;
/** All are to be started within this time. */
const LEAD_MS = 10_000;
const FIRED_WITHIN_MS = 60_000;
const LOOK_MS = 100;

export const timers: Scenario = {
  name: 'timers',
  meaning: '500 timers due at once: delivered a second, lag',
  async run(stage) {
    const worker = await stage.worker({ activities: false });
    const dueAt = Math.round(nowMs() + LEAD_MS);
    const work = { kind: 'timers', count: TIMERS, dueAt, clients: CLIENTS } as const;
    const load = await stage.load(work);
    const started = load.news('finished');
    load.tell({ kind: 'go' });
    await started;
    const inTime = await waitFor(worker, (report) => report.workflowTasks >= TIMERS, dueAt);
    await sleep(Math.max(0, dueAt - nowMs()));
    const begin = await stage.meter.begin();
    const all = await waitFor(worker, ({ fired }) => fired >= TIMERS, dueAt + FIRED_WITHIN_MS);
    const cost = await stage.meter.end(begin);
    const report = await worker.report();
    await stage.clear();
    const tookMs = report.lastFiredAt - dueAt;
    return {
      figures: {
        'timers.rate': (report.fired / tookMs) * 1000,
        'timers.lag-p50': report.timerLag?.p50 ?? Number.NaN,
        'timers.lag-p99': report.timerLag?.p99 ?? Number.NaN,
      },
      costs: [cost],
      faults: [
        ...(inTime ? [] : [`not all ${TIMERS} timers were started before they were due`]),
        ...(all ? [] : [`only ${report.fired} of ${TIMERS} timers were delivered`]),
      ],
      details: { worker: report },
    };
  },
};

/** Looks until the worker has seen it; false when it is too late. */
async function waitFor(
  worker: Party<WorkerReport>,
  seen: (report: WorkerReport) => boolean,
  until: number,
): Promise<boolean> {
  while (nowMs() < until) {
    if (seen(await worker.report())) return true;
    await sleep(LOOK_MS);
  }
  return false;
}
