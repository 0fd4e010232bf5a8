/** The official SDK round a torture of moves: one worker, which is never restarted, and a client that repeats nothing. */
import { Client, Connection } from '@temporalio/client';
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
} from '@temporalio/worker';
import { sleep, systemClock } from '../../../kernel/clock.ts';
import { TASK_QUEUE } from './load.ts';

/** How long a workflow task of `dwelling` stays open for a token. */
const DWELL_MS = 400;

/** Runs it with a client and, by token, how often the worker ran its activity of one attempt. */
export async function withClient<Value>(
  address: string,
  namespace: string,
  run: (client: Client, ran: ReadonlyMap<string, number>) => Promise<Value>,
): Promise<Value> {
  const ran = new Map<string, number>();
  const activities = {
    once: async (token: string) => void ran.set(token, (ran.get(token) ?? 0) + 1),
    dwell: () => sleep(systemClock, DWELL_MS),
  };
  const logger = new DefaultLogger('ERROR');
  const quiet = { logging: { filter: { core: 'ERROR', other: 'ERROR' } as const } };
  Runtime.install({ logger, telemetryOptions: quiet, shutdownSignals: [] });
  const workflowsPath = new URL('workflows.ts', import.meta.url).pathname;
  const native = await NativeConnection.connect({ address });
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger });
  const taskQueue = TASK_QUEUE;
  const options = { connection: native, namespace, taskQueue, workflowBundle, activities };
  const worker = await Worker.create(options);
  // No retries: a call that fails is a failed call.
  const connection = await Connection.connect({ address, interceptors: [] });
  try {
    return await worker.runUntil(run(new Client({ connection, namespace }), ran));
  } finally {
    await connection.close();
    await native.close();
  }
}
