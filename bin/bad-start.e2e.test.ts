import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useTestServer } from '../cell/storage/sql/testing/test-database.ts';

const ATOLL = new URL('./atoll.ts', import.meta.url).pathname;
const server = useTestServer();

describe('a start that cannot be says why and what to do', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atoll-bad-start-'));
    // PostgreSQL's own user must be able to look into it; else the data would go elsewhere.
    await chmod(folder, 0o755);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('a port in use is named, with its flag', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const ended = await atoll(['dev', '--in-memory', '--port', String(port)]);
    taken.close();
    expect(ended.code).toBe(1);
    expect(ended.output).toContain(String(port));
    expect(ended.output).toContain('--port');
  });

  test('a port out of range ends with the usage code and names the flag', async () => {
    const ended = await atoll(['dev', '--port', '70000']);
    expect(ended.code).toBe(2);
    expect(ended.output).toContain('--port (or ATOLL_PORT)');
  });

  test('an unknown flag ends with the usage code and a hint', async () => {
    const ended = await atoll(['dev', '--prot', '1']);
    expect(ended.code).toBe(2);
    expect(ended.output).toContain('--port');
  });

  test('a cell whose database is down says where it looked', async () => {
    const url = 'postgres://atoll:secret-word@127.0.0.1:9/none';
    const ended = await atoll([...cellFlags(folder), '--postgres-url', url]);
    expect(ended.code).toBe(1);
    expect(ended.output).toContain('127.0.0.1:9');
    expect(ended.output, 'a password is never shown').not.toContain('secret-word');
  });

  test('a cell with another number of shards than its database has is refused', async () => {
    const url = server.url('shards_differ');
    const flags = [...cellFlags(folder), '--postgres-url', url, '--fleet', join(folder, 'differ')];
    const first = atoll([...flags, '--shards', '4'], 'ready');
    expect((await first).output).toContain('ready');
    const ended = await atoll([...flags, '--shards', '8']);
    expect(ended.code).toBe(1);
    expect(ended.output).toMatch(/4.*8|8.*4/);
  });

  test('a data folder of another user is named and left alone', async () => {
    const data = join(folder, 'foreign');
    await mkdir(join(data, 'postgres'), { recursive: true });
    await writeFile(join(data, 'postgres', 'letter.txt'), 'not a database');
    const ended = await atoll(['dev', '--port', '0', '--data', data]);
    expect(ended.code).toBe(1);
    expect(ended.output).toContain(join(data, 'postgres'));
  });
});

function cellFlags(folder: string): string[] {
  return ['cell', '--cell-id', 'a', '--fleet', join(folder, 'fleet'), '--log-format', 'json'];
}

type Ended = { readonly code: number | null; readonly output: string };

/** Runs the command until it ends, or, given a word, until its output holds it; then it is interrupted. */
function atoll(flags: readonly string[], until?: string): Promise<Ended> {
  const child = spawn(process.execPath, ['--import', 'tsx', ATOLL, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const read = (chunk: Buffer) => {
    output += chunk.toString();
    if (until !== undefined && output.includes(`"${until}"`)) child.kill('SIGINT');
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
