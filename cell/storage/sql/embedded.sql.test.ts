import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../kernel/clock.ts';
import { silentLog, type Log } from '../../../kernel/log.ts';
import { systemRng } from '../../../kernel/rng.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded.ts';
import { startProcess } from './testing/child-process.ts';
import { openRaw, runSql } from './testing/raw-connection.ts';

const ENGINE = new URL('./testing/engine-owner.ts', import.meta.url);
const asRoot = process.getuid?.() === 0;

let folder = '';
const running: EmbeddedPostgres[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'atoll-embedded-'));
  // Others may walk through: PostgreSQL runs as somebody else if this is root.
  await chmod(folder, 0o755);
});

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  await rm(folder, { recursive: true, force: true });
});

/** What a person sees at the level `info`. */
const said: string[] = [];
const log: Log = { ...silentLog, info: (_, message) => void said.push(message) };

async function start(
  dataDir = join(folder, 'data'),
  onRestart = () => {},
): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({
    dataDir,
    log,
    clock: systemClock,
    rng: systemRng,
    onRestart,
  });
  running.push(server);
  return server;
}

test('a database survives a clean stop, with its password kept from others', async () => {
  said.length = 0;
  const first = await start();
  await runSql(first.url('postgres'), 'CREATE TABLE kept AS SELECT 7 AS n');
  await first.stop();
  const second = await start();
  const firstTimes = said.filter((message) => message.startsWith('making a PostgreSQL database'));
  expect(firstTimes, 'who waits for the first start hears why, once').toHaveLength(1);
  expect(await runSql(second.url('postgres'), 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  expect((await stat(join(folder, 'data', 'password'))).mode & 0o777).toBe(0o600);
  const settings = await runSql(
    second.url('postgres'),
    `SELECT name, setting FROM pg_settings
     WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'listen_addresses') ORDER BY name`,
  );
  expect(settings.map((each) => Object.values(each).join(' '))).toEqual([
    'fsync on',
    'full_page_writes on',
    'listen_addresses 127.0.0.1',
    'synchronous_commit on',
  ]);
});

test('PostgreSQL that is killed comes back on its port with what was committed', async () => {
  let restarts = 0;
  const server = await start(undefined, () => {
    restarts += 1;
  });
  const url = server.url('postgres');
  await runSql(url, 'CREATE TABLE kept (n int4)');
  for (let kill = 1; kill <= 3; kill += 1) {
    await runSql(url, `INSERT INTO kept VALUES (${kill})`);
    process.kill(server.pid() ?? 0, 'SIGKILL');
    await expect.poll(() => restarts, { timeout: 30_000 }).toBe(kill);
  }
  expect(await runSql(url, 'SELECT count(*)::int4 AS n FROM kept')).toEqual([{ n: 3 }]);
});

test('a second engine on the same folder is refused, and the first goes on', async () => {
  const server = await start();
  await expect(start()).rejects.toMatchObject({
    code: 'failed-precondition',
    message: expect.stringContaining(`in use by another engine (process ${process.pid})`),
  });
  expect(await runSql(server.url('postgres'), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('when the engine is killed its PostgreSQL shuts down, and the next engine starts on the data', async () => {
  const dataDir = join(folder, 'data');
  const engine = startProcess(ENGINE, [dataDir]);
  const [url = '', pid = ''] = (await engine.line()).split(' ');
  await runSql(url, 'CREATE TABLE kept AS SELECT 7 AS n');
  await expect(start()).rejects.toMatchObject({ code: 'failed-precondition' });
  const idle = await openRaw(url);
  await engine.kill();
  const next = await start();
  expect(next.pid()).not.toBe(Number(pid));
  expect(await runSql(next.url('postgres'), 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  await idle.close().catch(() => {});
});

test('a lock file whose process id belongs to something else by now does not keep it from starting', async () => {
  const first = await start();
  const lockFile = join(folder, 'data', 'pg', 'postmaster.pid');
  const lock = await readFile(lockFile, 'utf8');
  await first.stop();
  await writeFile(lockFile, lock.replace(/^\d+/, String(process.pid)));
  await start();
});

test('a cluster that was only half made is made again', async () => {
  const server = await start();
  await server.stop();
  const data = join(folder, 'data');
  await rm(join(data, 'pg'), { recursive: true });
  await mkdir(join(data, 'pg.new', 'base'), { recursive: true });
  if (asRoot) {
    const { uid, gid } = await stat(data);
    await chown(join(data, 'pg.new'), uid, gid);
  }
  await start();
});

test.runIf(asRoot)('as root PostgreSQL runs as an unprivileged user', async () => {
  const server = await start();
  expect((await stat(`/proc/${server.pid()}`)).uid).not.toBe(0);
  expect(server.relocatedFrom).toBeUndefined();
});

test.runIf(asRoot)(
  'as root a folder that the unprivileged user cannot reach is replaced, and that is said',
  async () => {
    await chmod(folder, 0o700);
    const asked = join(folder, 'data');
    const server = await start(asked);
    expect(server.relocatedFrom).toBe(asked);
    expect(server.dataDir).toMatch(/^\/var\/lib\/atoll\/[0-9a-f]{16}$/);
    await server.stop();
    await rm(server.dataDir, { recursive: true });
  },
);

test.runIf(asRoot)('a folder of another user is refused with its owner named', async () => {
  const data = join(folder, 'data');
  await mkdir(data);
  await chown(data, 12_345, 12_345);
  await expect(start(data)).rejects.toMatchObject({
    code: 'permission-denied',
    message: expect.stringContaining('belongs to uid 12345'),
  });
});
