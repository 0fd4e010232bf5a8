/** Signals to one open run, as fast as 64 clients can, with a worker that takes its workflow tasks. */
import type { Scenario } from './scenario.ts';

const CLIENTS = 64;
/** A run holds no more than 10,000 signals; then it is the next run's turn. */
const SIGNALS_PER_RUN = 9_000;

export const signals: Scenario = {
  name: 'signals',
  meaning: 'signals to one run, closed loop, 64 clients',
  async run(stage) {
    const worker = await stage.worker({ activities: false, sticky: true });
    const work = { kind: 'signals', clients: CLIENTS, signalsPerRun: SIGNALS_PER_RUN } as const;
    const load = await stage.load(work);
    const opened = load.news('opened');
    load.tell({ kind: 'go' });
    await opened;
    const cost = await stage.window([load, worker]);
    const report = await load.report();
    await stage.clear();
    const { errors, lastError } = report;
    return {
      figures: {
        'signals.rate': report.recorded / cost.seconds,
        'signals.p99': report.signal?.p99 ?? Number.NaN,
      },
      costs: [cost],
      faults: errors > 0 ? [`${errors} signals failed: ${lastError}`] : [],
      details: { load: report },
    };
  },
};
