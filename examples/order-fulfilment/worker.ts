/** The shop's worker on the official SDK, without a command line: demo and `worker-main.ts` both run it. */
import { bundleWorkflowCode, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createActivities } from './activities.ts';
import { LedgerClient } from './ledger/ask-ledger.ts';
import { TASK_QUEUE } from './order.ts';

export type WorkerOptions = {
  /** The router, as host:port. */
  readonly address: string;
  readonly namespace: string;
  readonly ledgerUrl: string;
};

/** Bundles the workflow code; takes a second or two, so it is done before anything waits for it. */
export function bundleWorkflows(): Promise<{ code: string }> {
  return bundleWorkflowCode({
    workflowsPath: new URL('workflows.ts', import.meta.url).pathname,
    logger: QUIET,
  });
}

/** Connects a worker that is ready to run. Ends by `shutdown()`. */
export async function createWorker(options: WorkerOptions, bundle: { code: string }) {
  quietRuntime();
  const connection = await NativeConnection.connect({ address: options.address });
  const worker = await Worker.create({
    connection,
    namespace: options.namespace,
    taskQueue: TASK_QUEUE,
    workflowBundle: bundle,
    activities: createActivities(new LedgerClient(options.ledgerUrl)),
    maxCachedWorkflows: 1_500,
    maxConcurrentWorkflowTaskExecutions: 40,
    maxConcurrentActivityTaskExecutions: 100,
    shutdownGraceTime: '3 seconds',
  });
  return { worker, close: () => connection.close() };
}

const nothing = () => {};
const QUIET = {
  log: nothing,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: console.warn,
  error: console.error,
};

let quiet = false;
/** Declined cards and missing stock are the point of the example, not news: errors of the SDK itself only. */
function quietRuntime(): void {
  if (quiet) return;
  quiet = true;
  Runtime.install({
    logger: { ...QUIET, warn: nothing },
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
    shutdownSignals: [],
  });
}
