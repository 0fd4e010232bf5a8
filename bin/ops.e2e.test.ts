import { createServer, type AddressInfo } from 'node:net';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../kernel/clock.ts';
import { Lifecycle } from '../kernel/lifecycle.ts';
import { silentLog } from '../kernel/log.ts';
import { startDev } from './dev.ts';
import { startOps } from './ops.ts';

const namespace = 'default';

describe('the metrics port', () => {
  const lifecycle = new Lifecycle({ clock: systemClock, log: silentLog });
  const ports = { lifecycle, log: silentLog };
  let url = '';
  let connection: Connection;

  beforeAll(async () => {
    const ops = { metricsPort: await freePort() };
    url = `http://127.0.0.1:${ops.metricsPort}`;
    const dev = await startDev(
      { host: '127.0.0.1', port: 0, data: undefined, namespaces: [namespace], ops },
      ports,
    );
    connection = await Connection.connect({ address: dev.address });
  });
  afterAll(async () => {
    await connection?.close();
    await lifecycle.stop();
  });

  test('says that the process is alive and serves all it should', async () => {
    expect(await get('/health')).toEqual([200, 'alive\n']);
    expect(await get('/ready')).toEqual([200, 'ready\n']);
    expect((await get('/else'))[0]).toBe(404);
  });

  test('measures appends, waits, failed tasks by cause, shards and the router', async () => {
    const service = connection.workflowService;
    const taskQueue = { name: 'measured' };
    await service.startWorkflowExecution({
      ...{ namespace, workflowId: 'measured-1', requestId: 'r', workflowType: { name: 'w' } },
      taskQueue,
    });
    const { taskToken } = await service.pollWorkflowTaskQueue({ namespace, taskQueue });
    await service.respondWorkflowTaskFailed({ namespace, taskToken, cause: 24 });
    await service.pollWorkflowTaskQueue({ namespace, taskQueue });
    // A start with a delay is a clock that rings.
    await service.startWorkflowExecution({
      ...{ namespace, workflowId: 'measured-2', requestId: 'r', workflowType: { name: 'w' } },
      ...{ taskQueue, workflowStartDelay: { nanos: 50_000_000 } },
    });
    await service.pollWorkflowTaskQueue({ namespace, taskQueue });
    const [, text] = await get('/metrics');
    const value = (line: RegExp) => Number(line.exec(text)?.[1] ?? Number.NaN);
    expect(value(/^atoll_append_batch_rows_count\{cell="a"\} (\d+)$/m)).toBeGreaterThan(0);
    expect(value(/^atoll_append_ms_count\{cell="a"\} (\d+)$/m)).toBeGreaterThan(0);
    expect(value(/^atoll_schedule_to_start_ms_count\{.*kind="workflow-task".*\} (\d+)$/m)).toBe(3);
    expect(text).toMatch(/^atoll_task_failures_total\{.*NonDeterministicError.*\} 1$/m);
    expect(value(/^atoll_timer_lag_ms_count\{cell="a"\} (\d+)$/m)).toBeGreaterThan(0);
    expect(value(/^atoll_shards_owned\{cell="b"\} (\d+)$/m)).toBe(4);
    expect(value(/^atoll_shard_takeovers_total\{cell="b"\} (\d+)$/m)).toBe(4);
    expect(value(/^atoll_router_calls_total (\d+)$/m)).toBeGreaterThan(3);
    expect(value(/^atoll_router_holds (\d+)$/m)).toBe(0);
    expect(value(/^atoll_rpc_calls_total\{.*StartWorkflowExecution.*\} (\d+)$/m)).toBe(2);
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).toMatch(/^atoll_scanner_heals_total\{cell="a"\} 0$/m);
  });

  test('that is taken is named with its flag', async () => {
    const metricsPort = Number(new URL(url).port);
    await expect(startOps({ metricsPort }, ports)).rejects.toThrow('--metrics-port');
  });

  async function get(path: string): Promise<[number, string]> {
    const response = await fetch(url + path);
    return [response.status, await response.text()];
  }
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
