/** Workflows of N activities one after another, under a closed or an open loop: the load of several scenarios. */
import type { LoadReport, WorkerReport } from '../load/messages.ts';
import type { Cost, ProcessName } from '../measure/meter.ts';
import type { Round } from './scenario.ts';
import type { Stage } from './stage.ts';

export type ActivityLoad = {
  readonly steps: number;
  readonly eager?: boolean;
} & ({ readonly clients: number } | { readonly perSecond: number });

export type ActivityRun = {
  readonly cost: Cost;
  readonly worker: WorkerReport;
  readonly load: LoadReport;
  readonly perSecond: number;
  /** CPU milliseconds of a process for each workflow that ended in the window. */
  readonly cpuMs: (name: ProcessName) => number;
  /** CPU milliseconds of router, cell and PostgreSQL. */
  readonly serverCpuMs: number;
  /** A total of the window, for each workflow. */
  readonly each: (total: number | undefined) => number;
};

/** Runs the load through a warm-up and a window. */
export async function runActivities(stage: Stage, load: ActivityLoad): Promise<ActivityRun> {
  const type = `activities-${load.steps}`;
  const worker = await stage.worker({ eager: load.eager ?? false });
  const generator = await stage.load(
    'clients' in load
      ? { kind: 'closed-loop', type, clients: load.clients }
      : { kind: 'open-loop', type, perSecond: load.perSecond },
  );
  generator.tell({ kind: 'go' });
  const cost = await stage.window([worker, generator]);
  const [workerReport, loadReport] = await Promise.all([worker.report(), generator.report()]);
  await stage.clear();
  const each = (total: number | undefined) => (total ?? Number.NaN) / loadReport.recorded;
  const cpuMs = (name: ProcessName) => each(cost.cpuSeconds[name]) * 1000;
  return {
    cost,
    worker: workerReport,
    load: loadReport,
    perSecond: loadReport.recorded / cost.seconds,
    cpuMs,
    serverCpuMs: cpuMs('router') + cpuMs('cell') + cpuMs('postgres'),
    each,
  };
}

/** The round of such a run. */
export function roundOf(run: ActivityRun, figures: Round['figures']): Round {
  const { cost, worker, load } = run;
  const errors = worker.errors + load.errors;
  return {
    figures,
    costs: [cost],
    workflows: load.recorded,
    faults: [
      ...(errors > 0 ? [`${errors} calls failed: ${load.lastError || worker.lastError}`] : []),
      ...(load.recorded === 0 ? ['no workflow ended in the window'] : []),
    ],
    details: { worker, load },
  };
}
