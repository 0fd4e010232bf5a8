import { Client, Connection } from '@temporalio/client';
import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ATOLL = new URL('./atoll.ts', import.meta.url).pathname;
const STOP_MS = 5_000;

describe('atoll dev as a process', () => {
  let folder = '';
  const started: ChildProcess[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atoll-dev-process-'));
    await chmod(folder, 0o755);
  });
  afterAll(async () => {
    for (const child of started) child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  test('keeps what it acknowledged over a SIGKILL, and stops cleanly on Ctrl-C', async () => {
    const first = await startDev(folder, started);
    await withClient(first.address, (client) =>
      client.workflow.start('waits', { taskQueue: 'nobody', workflowId: 'kept-1' }),
    );
    first.child.kill('SIGKILL');
    await ended(first.child);

    const second = await startDev(folder, started);
    const status = await withClient(second.address, async (client) => {
      const { status } = await client.workflow.getHandle('kept-1').describe();
      return status.name;
    });
    expect(status).toBe('RUNNING');

    const askedAt = Date.now();
    second.child.kill('SIGINT');
    expect(await ended(second.child)).toBe(0);
    expect(Date.now() - askedAt).toBeLessThan(STOP_MS);
  });
});

type Running = { readonly child: ChildProcess; readonly address: string };

/** Spawns the server and waits for its ready line. */
function startDev(folder: string, started: ChildProcess[]): Promise<Running> {
  const flags = ['dev', '--port', '0', '--log-format', 'json', '--data', join(folder, 'data')];
  const child = spawn(process.execPath, ['--import', 'tsx', ATOLL, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  let output = '';
  return new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const address = /"address":"([^"]+)"[^\n]*"msg":"ready"/.exec(output)?.[1];
      if (address !== undefined) resolve({ child, address });
    });
    child.once('close', (code) => reject(new Error(`ended with ${code} before ready: ${output}`)));
  });
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('close', (code) => resolve(code)));
}

async function withClient<T>(address: string, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}
