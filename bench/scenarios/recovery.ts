/**
 * kill -9 of the cell under load, started again at once: the time until a worker gets a task, and whether anything that
 * was acknowledged is missing at the end.
 */
import { nowMs, sleep, within } from '../load/time.ts';
import type { Cost } from '../measure/meter.ts';
import type { Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';

const CLIENTS = 16;
/** Answers that were on their way when it died are not from the new one. */
const ON_THE_WAY_MS = 50;
const FIRST_TASK_MS = 60_000;
const DRAIN_MS = 30_000;

export const recovery: Scenario = {
  name: 'recovery',
  meaning: 'kill -9 of the cell under load: time to the first task, acknowledged work lost',
  async run(stage) {
    const worker = await stage.worker();
    const work = { kind: 'closed-loop', type: 'activities-1', clients: CLIENTS } as const;
    const load = await stage.load(work);
    load.tell({ kind: 'go' });
    const before = await quietness(stage, Math.max(1, stage.settings.warmupSeconds));
    const firstTask = worker.news('first-task');
    const killedAt = nowMs();
    await stage.engine.killCell();
    const ready = stage.engine.startCell();
    await sleep(Math.max(0, killedAt + ON_THE_WAY_MS - nowMs()));
    worker.tell({ kind: 'watch-first-task', since: killedAt });
    await ready;
    const readyMs = nowMs() - killedAt;
    const first = await within(firstTask, FIRST_TASK_MS);
    const after = await quietness(stage, stage.settings.seconds);
    const drained = load.news('finished');
    load.tell({ kind: 'drain' });
    await within(drained, DRAIN_MS);
    const report = await load.report();
    await stage.clear();
    return {
      figures: {
        'recovery.first-task': (first?.afterMs ?? Number.NaN) / 1000,
        'recovery.lost': report.started - report.completed,
      },
      costs: [before, after],
      faults: report.errors > 0 ? [`${report.errors} calls failed: ${report.lastError}`] : [],
      details: { load: report, readyMs },
    };
  },
};

/**
 * Lets the load go on, and tells what others used meanwhile. Before the kill and after it: the CPU of the killed process is
 * gone, so a window across it would take it for that of others.
 */
async function quietness(stage: Stage, seconds: number): Promise<Cost> {
  const begin = await stage.meter.begin();
  await sleep(seconds * 1000);
  return stage.meter.end(begin);
}
