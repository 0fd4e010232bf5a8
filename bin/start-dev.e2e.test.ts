import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as connectTcp, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compileAtoll, type CompiledAtoll } from './testing/compiled-atoll.ts';
import * as workflows from './testing/workflows.ts';

describe('atoll server start-dev', () => {
  let atoll: CompiledAtoll;
  let folder = '';
  const children = new Set<ChildProcess>();

  beforeAll(async () => {
    atoll = await compileAtoll('start-dev');
    folder = await mkdtemp(join(tmpdir(), 'atoll-start-dev-'));
    await chmod(folder, 0o755);
  }, 60_000);
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await atoll?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  test('is the server that the official test kit starts and runs a workflow on', async () => {
    const server = { executable: { type: 'existing-path' as const, path: atoll.path } };
    const environment = await TestWorkflowEnvironment.createLocal({ server });
    try {
      const worker = await Worker.create({
        connection: environment.nativeConnection,
        taskQueue: 'kit',
        workflowsPath: fileURLToPath(new URL('./testing/workflows.ts', import.meta.url)),
        activities: { greet: async (name: string) => `hello ${name}` },
      });
      const result = await worker.runUntil(
        environment.client.workflow.execute(workflows.hello, {
          taskQueue: 'kit',
          workflowId: 'kit-1',
          args: ['Ada'],
        }),
      );
      expect(result).toBe('hello Ada');
    } finally {
      await environment.teardown();
    }
  });

  test('answers soon although three others start beside it', async () => {
    const ports = await Promise.all(Array.from({ length: 4 }, freePort));
    const begun = performance.now();
    const answeredAfter = await Promise.all(
      ports.map(async (port) => {
        start(['--port', String(port), '--log-level', 'error']);
        await connect(port, 60_000).then((connection) => connection.close());
        return performance.now() - begun;
      }),
    );
    // Five seconds is what test kits wait; this bound also holds on a machine that is busy with other tests.
    expect(Math.max(...answeredAfter)).toBeLessThan(15_000);
  });

  test('takes every flag of the kits, registers the namespaces and keeps their search attributes', async () => {
    const port = await freePort();
    const output = start([
      ...['--ip', '127.0.0.1', '--port', String(port), '--log-format', 'json'],
      ...['--namespace', 'orders', '--namespace', 'stock,billing', '--headless'],
      ...['--search-attribute', 'Region=Keyword', '--search-attribute', 'Amount=Double'],
      ...['--dynamic-config-value', 'frontend.anything=true', '--sqlite-pragma', 'a=b'],
      ...['--ui-port', '8233', '--http-port', '7243', '--ui-ip', '127.0.0.1', '--log-config'],
      ...[
        '--ui-asset-path',
        '/nowhere',
        '--ui-codec-endpoint',
        'http://c',
        '--disable-config-file',
      ],
    ]);
    const connection = await connect(port, 30_000);
    const { namespaces } = await connection.workflowService.listNamespaces({});
    const names = namespaces.map((one) => one.namespaceInfo?.name);
    expect(new Set(names)).toEqual(new Set(['billing', 'default', 'orders', 'stock']));
    const found = await connection.workflowService.describeNamespace({ namespace: 'stock' });
    expect(found.config?.customSearchAttributeAliases).toEqual({
      Region: 'Region',
      Amount: 'Amount',
    });
    await connection.close();
    expect(output().match(/--ui-port|--http-port/g)).toEqual(['--ui-port', '--http-port']);
  });

  test('keeps its data in the folder that --db-filename names, also over a kill', async () => {
    const db = join(folder, 'dev.db');
    const port = await freePort();
    const flags = ['--port', String(port), '--db-filename', db, '--namespace', 'orders'];
    start(flags);
    const before = await connect(port, 60_000);
    const service = before.workflowService;
    const start1 = await service.startWorkflowExecution({
      ...{ namespace: 'orders', workflowId: 'kept', requestId: 'r1' },
      ...{ workflowType: { name: 'waits' }, taskQueue: { name: 'nobody' } },
    });
    await before.close();
    const [child] = [...children].slice(-1);
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    child?.kill('SIGKILL');
    await ended;
    start(flags);
    const after = await connect(port, 60_000);
    const found = await after.workflowService.describeWorkflowExecution({
      namespace: 'orders',
      execution: { workflowId: 'kept' },
    });
    expect(found.workflowExecutionInfo?.execution?.runId).toBe(start1.runId);
    await after.close();
  });

  test('says what is wrong with a flag or a data file, and ends', async () => {
    const file = join(folder, 'other.db');
    await writeFile(file, 'a database of another kind');
    expect(await end(['--search-attribute', 'Region=Word'])).toMatch(
      /^2 .*--search-attribute.*Keyword/s,
    );
    expect(await end(['--port', 'x'])).toMatch(/^2 .*--port/s);
    expect(await end(['--nonsense'])).toMatch(/^2 /);
    expect(await end(['--port', '0', '--db-filename', file])).toMatch(/^1 .*is a file.*folder/s);
  });

  function start(flags: readonly string[]): () => string {
    const child = spawn(atoll.path, ['server', 'start-dev', ...flags]);
    children.add(child);
    let output = '';
    const read = (chunk: Buffer) => void (output += chunk.toString());
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    return () => output;
  }

  /** Exit code and output of one that cannot start. */
  function end(flags: readonly string[]): Promise<string> {
    const output = start(flags);
    const child = [...children].at(-1);
    return new Promise((resolve) => {
      child?.on('close', (code) => resolve(`${code} ${output()}`));
    });
  }
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A connection whose GetSystemInfo was answered. Waits for the port first: gRPC's own back-off is long. */
async function connect(port: number, timeoutMs: number): Promise<Connection> {
  const giveUpAt = performance.now() + timeoutMs;
  while (!(await isOpen(port)) && performance.now() < giveUpAt) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return Connection.connect({ address: `127.0.0.1:${port}`, connectTimeout: 10_000 });
}

function isOpen(port: number): Promise<boolean> {
  const socket = connectTcp(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}
