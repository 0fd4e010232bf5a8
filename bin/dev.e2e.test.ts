import {
  Client,
  Connection,
  WorkflowFailedError,
  WorkflowNotFoundError,
  type Workflow,
} from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ApplicationFailure, Context, activityInfo, heartbeat } from '@temporalio/activity';
import { NativeConnection, Worker, bundleWorkflowCode } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../kernel/clock.ts';
import { Lifecycle } from '../kernel/lifecycle.ts';
import { silentLog } from '../kernel/log.ts';
import { startDev } from './dev.ts';
import * as workflows from './testing/workflows.ts';

const activities = {
  greet: async (name: string) => `hello ${name}`,
  failTimes: async (times: number) => {
    if (activityInfo().attempt <= times) throw new Error('not yet');
    return activityInfo().attempt;
  },
  failForEver: async () => {
    throw ApplicationFailure.create({ message: 'for ever', type: 'Gone' });
  },
  waitForCancel: async () => {
    const { cancelled } = Context.current();
    const beat = setInterval(() => heartbeat('alive'), 200);
    await cancelled.finally(() => clearInterval(beat));
  },
  heartbeatThenHang: async () => {
    const info = activityInfo();
    if (info.attempt > 1) return `details ${String(info.heartbeatDetails)}`;
    heartbeat('step 7');
    await Context.current().sleep(10_000);
    return 'never';
  },
};

describe('the official SDK on atoll dev', () => {
  const lifecycle = new Lifecycle({ clock: systemClock, log: silentLog });
  const taskQueue = 'orders';
  let client: Client;
  let worker: Worker;
  let running: Promise<void>;
  let connections: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    const dev = await startDev(
      { host: '127.0.0.1', port: 0, data: undefined, namespaces: ['default'] },
      { lifecycle, log: silentLog },
    );
    const { address } = dev;
    const connection = await Connection.connect({ address });
    const native = await NativeConnection.connect({ address });
    connections = [connection, native];
    client = new Client({ connection });
    const workflowsPath = fileURLToPath(new URL('./testing/workflows.ts', import.meta.url));
    const workflowBundle = await bundleWorkflowCode({ workflowsPath });
    worker = await Worker.create({ connection: native, taskQueue, workflowBundle, activities });
    running = worker.run();
  }, 120_000);

  afterAll(async () => {
    worker?.shutdown();
    await running;
    for (const connection of connections) await connection.close();
    await lifecycle.stop();
  }, 30_000);

  const start = (workflow: Workflow, workflowId: string, ...args: unknown[]) =>
    client.workflow.start(workflow, { taskQueue, workflowId, args });

  test('runs a workflow with one activity to its result', async () => {
    const handle = await start(workflows.hello, 'hello-1', 'Ada');
    expect(await handle.result()).toBe('hello Ada');
  });

  test('delivers signals in order and answers queries with all of them', async () => {
    const handle = await start(workflows.summing, 'summing-1');
    for (let n = 1; n <= 20; n += 1) {
      await handle.signal(workflows.addSignal, n);
      if (n % 5 === 0) expect(await handle.query(workflows.totalQuery)).toBe((n * (n + 1)) / 2);
    }
    await handle.signal(workflows.closeSignal);
    expect(await handle.result()).toBe(210);
    expect(await handle.query(workflows.totalQuery), 'a closed run answers too').toBe(210);
  });

  test('runs timers, parallel and local activities and version markers', async () => {
    const handle = await start(workflows.mixed, 'mixed-1');
    expect(await handle.result()).toBe('hello a hello b hello c hello local patched');
  });

  test('retries an activity with back-off until it succeeds', async () => {
    const handle = await start(workflows.retrying, 'retrying-1', 3);
    expect(await handle.result()).toBe(4);
  });

  test('reports an activity failure to the workflow', async () => {
    const handle = await start(workflows.settling, 'settling-1');
    expect(await handle.result()).toBe('failed: Activity task failed');
  });

  test('cancels a workflow, its activity and lets it clean up', async () => {
    const handle = await start(workflows.cancellable, 'cancellable-1');
    await until(async () => (await handle.describe()).raw.pendingActivities?.[0]?.attempt === 1);
    await handle.cancel();
    expect(await handle.result()).toBe('hello after cancel');
  });

  test('hands heartbeat details to the attempt after a heartbeat timeout', async () => {
    const handle = await start(workflows.heartbeating, 'heartbeating-1');
    expect(await handle.result()).toBe('details step 7');
  });

  test('terminates a run, and tells who waits', async () => {
    const handle = await start(workflows.sleepy, 'sleepy-1', 60_000);
    await handle.terminate('enough');
    await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
    expect((await handle.describe()).status.name).toBe('TERMINATED');
  });

  test('refuses a second start of an open workflow id', async () => {
    const handle = await start(workflows.sleepy, 'sleepy-2', 60_000);
    await expect(start(workflows.sleepy, 'sleepy-2', 1)).rejects.toThrow(
      WorkflowExecutionAlreadyStartedError,
    );
    await handle.terminate();
  });

  test('shows a workflow task that keeps failing, and takes the fix from the next one', async () => {
    const handle = await start(workflows.throwing, 'throwing-1');
    await until(async () => {
      const { events } = await handle.fetchHistory();
      return events?.some((event) => event.workflowTaskFailedEventAttributes) ?? false;
    });
    await handle.terminate();
  });

  test('finds executions by id and counts them', async () => {
    await until(async () => {
      const found = [];
      for await (const run of client.workflow.list({ query: "WorkflowId = 'hello-1'" })) {
        found.push(run);
      }
      return found.length === 1 && found[0]?.status.name === 'COMPLETED';
    });
    expect((await client.workflow.count("WorkflowType = 'hello'")).count).toBe(1);
  });

  test('says clearly that an execution is not there', async () => {
    await expect(client.workflow.getHandle('nowhere').describe()).rejects.toThrow(
      WorkflowNotFoundError,
    );
  });

  test('signal-with-start starts once and signals each time', async () => {
    const options = { taskQueue, workflowId: 'sws-1', signal: workflows.addSignal } as const;
    const handle = await client.workflow.signalWithStart(workflows.summing, {
      ...options,
      signalArgs: [2],
    });
    await client.workflow.signalWithStart(workflows.summing, { ...options, signalArgs: [3] });
    await handle.signal(workflows.closeSignal);
    expect(await handle.result()).toBe(5);
  });
});

/** Waits for a condition of the engine, asking again at once: each question is a round trip. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error('the condition did not come to hold within 20 s');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
