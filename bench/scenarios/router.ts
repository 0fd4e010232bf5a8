/**
 * The same calls through the router and direct to the cell: what the router costs and adds. The cell answers them from
 * memory, so that little else is in the figures.
 */
import type { LoadReport } from '../load/messages.ts';
import type { Cost } from '../measure/meter.ts';
import type { Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';

const IN_FLIGHT = 32;
const CALLS_PER_SECOND = 1_000;

type Calls = { readonly cost: Cost; readonly load: LoadReport };
type Loop = { readonly clients: number; readonly perSecond: number };

export const router: Scenario = {
  name: 'router',
  meaning: 'calls through the router against direct ones: CPU a call, added latency',
  async run(stage) {
    const { address, cellAddress } = stage.engine;
    const full: Loop = { clients: IN_FLIGHT, perSecond: 0 };
    const steady: Loop = { clients: 0, perSecond: CALLS_PER_SECOND };
    const direct = await call(stage, full, cellAddress);
    const routed = await call(stage, full, address);
    const directSteady = await call(stage, steady, cellAddress);
    const routedSteady = await call(stage, steady, address);
    const all = [direct, routed, directSteady, routedSteady];
    const cpuSeconds = routed.cost.cpuSeconds.router ?? Number.NaN;
    const added = (share: 'p50' | 'p99') =>
      (routedSteady.load.call?.[share] ?? Number.NaN) -
      (directSteady.load.call?.[share] ?? Number.NaN);
    const failed = all.filter(({ load }) => load.errors > 0);
    return {
      figures: {
        'router.cpu': (cpuSeconds / routed.load.recorded) * 1e6,
        'router.added-p99': added('p99'),
        'router.added-p50': added('p50'),
        'router.rate': routed.load.recorded / routed.cost.seconds,
        'router.direct-rate': direct.load.recorded / direct.cost.seconds,
      },
      costs: all.map(({ cost }) => cost),
      faults: failed.map(({ load }) => `${load.errors} calls failed: ${load.lastError}`),
      details: Object.fromEntries(
        ['direct', 'routed', 'directSteady', 'routedSteady'].map((name, i) => [name, all[i]?.load]),
      ),
    };
  },
};

async function call(stage: Stage, loop: Loop, address: string): Promise<Calls> {
  const load = await stage.load({ kind: 'calls', ...loop }, address);
  load.tell({ kind: 'go' });
  const cost = await stage.window([load]);
  const report = await load.report();
  await stage.clear();
  return { cost, load: report };
}
