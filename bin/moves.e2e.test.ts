/**
 * A namespace with a replica, moved there and back, failed over, while the official SDK works in it: whole cells in one
 * process, in memory (P5).
 */
import { inspect } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import {
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
  bundleWorkflowCode,
} from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../kernel/clock.ts';
import { Lifecycle } from '../kernel/lifecycle.ts';
import { silentLog } from '../kernel/log.ts';
import { startDev } from './dev.ts';
import { operator, type OperatorRun } from './testing/operator.ts';
import * as workflows from './testing/workflows.ts';

const NAMESPACE = 'orders';
const TASK_QUEUE = 'orders';
/** What a client allows for a call: held or not, it is answered in it. */
const DEADLINE_MS = 10_000;
const PAUSE_MS = 25;
/** What `mixed` returns. */
const MIXED = 'hello a hello b hello c hello local patched';

describe('a namespace with a replica, under the official SDK', () => {
  const lifecycle = new Lifecycle({ clock: systemClock, log: silentLog });
  let atoll: (line: string) => Promise<OperatorRun>;
  let client: Client;
  let worker: Worker;
  let running: Promise<void>;
  let connections: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    // A worker notes each task that a switch took from it; that is expected here.
    const logger = new DefaultLogger('ERROR');
    const telemetryOptions = { logging: { filter: { core: 'ERROR', other: 'ERROR' } as const } };
    Runtime.install({ logger, telemetryOptions });
    const { address, admin } = await startDev(
      { host: '127.0.0.1', port: 0, data: undefined, namespaces: [] },
      { lifecycle, log: silentLog },
    );
    atoll = operator(admin);
    const made = await atoll(`namespace create ${NAMESPACE} --region a --replica b`);
    expect(made).toMatchObject({ code: 0 });
    // No retries: a call that fails is a failed call.
    const connection = await Connection.connect({ address, interceptors: [] });
    const native = await NativeConnection.connect({ address });
    connections = [connection, native];
    client = new Client({ connection, namespace: NAMESPACE });
    const workflowsPath = fileURLToPath(new URL('./testing/workflows.ts', import.meta.url));
    const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger });
    worker = await Worker.create({
      connection: native,
      namespace: NAMESPACE,
      taskQueue: TASK_QUEUE,
      workflowBundle,
      activities: { greet: async (name: string) => `hello ${name}` },
    });
    running = worker.run();
  }, 120_000);

  afterAll(async () => {
    worker?.shutdown();
    await running;
    for (const connection of connections) await connection.close();
    await lifecycle.stop();
  }, 60_000);

  test('moves to the other cell and back, and no call fails', async () => {
    const there = await underLoad('there', () => atoll(`move start ${NAMESPACE} --to b --wait`));
    expect(there).toMatchObject({ code: 0 });
    expect(await activeCell()).toBe('b');
    const back = await underLoad('back', () => atoll(`move back ${NAMESPACE} --wait`));
    expect(back).toMatchObject({ code: 0 });
    expect(await activeCell()).toBe('a');
    console.log(`${pauseOf(there)} there, ${pauseOf(back)} back`);
  }, 120_000);

  test('is as it was after a move that was aborted', async () => {
    const aborted = await underLoad('aborted', async () => {
      const started = await atoll(`move start ${NAMESPACE} --to b`);
      expect(started).toMatchObject({ code: 0 });
      return atoll(`move abort ${NAMESPACE} --wait`);
    });
    expect(aborted).toMatchObject({ code: 0 });
    expect(await activeCell()).toBe('a');
  }, 60_000);

  test('fails over by command while both cells live, and converges', async () => {
    const handle = await start(workflows.summing, 'over');
    await handle.signal(workflows.addSignal, 1);
    const over = await atoll(`failover ${NAMESPACE} --force`);
    expect(over).toMatchObject({ code: 0 });
    expect(await activeCell()).toBe('b');
    await handle.signal(workflows.addSignal, 2);
    await handle.signal(workflows.closeSignal);
    expect(await handle.result()).toBe(3);
    const verified = await atoll(`move verify ${NAMESPACE} --against a`);
    expect(verified).toMatchObject({ code: 0 });
  }, 60_000);

  /** Starts and signals workflows while `meanwhile` runs, and until each of them has ended as it should. */
  async function underLoad<Value>(name: string, meanwhile: () => Promise<Value>): Promise<Value> {
    let over = false;
    const failures: string[] = [];
    const ends: Promise<unknown>[] = [];
    let calls = 0;
    const call = async <T>(what: string, run: () => Promise<T>): Promise<T | undefined> => {
      calls += 1;
      try {
        return await client.withDeadline(Date.now() + DEADLINE_MS, run);
      } catch (error) {
        failures.push(`${what}: ${inspect(error)}`);
        return undefined;
      }
    };
    const sums = await start(workflows.summing, `${name}-sums`);
    let total = 0;
    const signalling = async () => {
      for (let n = 1; !over; n += 1) {
        await call('signal', () => sums.signal(workflows.addSignal, n));
        total += n;
        if (n % 5 === 0) await call('query', () => sums.query(workflows.totalQuery));
        await pause();
      }
    };
    const starting = async () => {
      for (let n = 1; !over; n += 1) {
        const handle = await call('start', () => start(workflows.mixed, `${name}-${n}`));
        if (handle) ends.push(handle.result().catch(String));
        await pause();
      }
    };
    const loops = [signalling(), starting()];
    let value: Value;
    try {
      value = await meanwhile();
    } finally {
      over = true;
      await Promise.all(loops);
    }
    expect(failures).toEqual([]);
    expect(new Set(await Promise.all(ends))).toEqual(new Set([MIXED]));
    await sums.signal(workflows.closeSignal);
    expect(await sums.result()).toBe(total);
    console.log(`${name}: ${calls} calls, 0 failed; ${ends.length} workflows ended`);
    return value;
  }

  function start<Args extends unknown[]>(
    workflow: (...args: Args) => Promise<unknown>,
    workflowId: string,
  ) {
    return client.workflow.start(workflow as () => Promise<unknown>, {
      taskQueue: TASK_QUEUE,
      workflowId,
    });
  }

  async function activeCell(): Promise<string> {
    const { out } = await atoll(`namespace describe ${NAMESPACE} --json`);
    return (JSON.parse(out) as { active: string }).active;
  }
});

function pauseOf({ out }: OperatorRun): string {
  return /calls held for .*/.exec(out)?.[0] ?? 'no pause is told';
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
