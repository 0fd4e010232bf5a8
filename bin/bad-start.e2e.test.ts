import { access, chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useTestServer } from '../cell/storage/sql/testing/test-database.ts';
import { rawCalls } from './testing/raw-calls.ts';
import { until } from './testing/until.ts';
import { useAtoll, type Ended } from './testing/use-atoll.ts';

const server = useTestServer();
const command = useAtoll('bad-start');
const atoll = (flags: readonly string[]): Promise<Ended> => command.start(flags).ended();

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
    const data = join(folder, 'not-made');
    const flags = ['dev', '--port', String(port)];
    const [inMemory, ended] = [
      await atoll([...flags, '--in-memory']),
      await atoll([...flags, '--data', data]),
    ];
    taken.close();
    for (const { code, output } of [inMemory, ended]) {
      expect(code).toBe(1);
      expect(output).toContain(String(port));
      expect(output).toContain('--port');
    }
    await expect(access(data), 'no database is made first').rejects.toThrow('ENOENT');
  });

  test('an admin port in use is told, for commands would reach another fleet', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const flags = ['dev', '--in-memory', '--port', '0', '--admin-port', String(port)];
    const running = command.start([...flags, '--log-format', 'json']);
    await running.ready();
    running.kill('SIGINT');
    taken.close();
    const { output } = await running.ended();
    expect(output).toMatch(new RegExp(`"asked":"127.0.0.1:${port}","admin":".*--address`));
  });

  test('a router whose fleet folder knows no cell says where it looked', async () => {
    const fleet = join(folder, 'empty-fleet');
    const router = command.start([
      'router',
      '--port',
      '0',
      '--log-format',
      'json',
      '--fleet',
      fleet,
    ]);
    await router.ready();
    router.kill('SIGINT');
    expect((await router.ended()).output).toContain(`"fleet":"${fleet}"`);
  });

  test('a port out of range ends with the usage code and names the flag', async () => {
    const ended = await atoll(['dev', '--port', '70000']);
    expect(ended.code).toBe(2);
    expect(ended.output).toContain('--port (or ATOLL_PORT)');
  });

  test.each([
    ['dev', '--port', 'seven', '--port'],
    ['dev', '--log-level', 'loud', '--log-level'],
    ['cell', '--shards', '0', '--shards'],
    ['cell', '--region', 'r', '--cell-id'],
    ['router', '--namespace-calls-per-second', '-1', '--namespace-calls-per-second'],
    ['router', '--port', '', '--port'],
  ])('%s %s %j ends with the usage code and names %s', async (role, flag, value, named) => {
    const ended = await atoll([role, flag, value]);
    expect(ended.code).toBe(2);
    expect(ended.output).toContain(named);
    expect(ended.output).toContain(`atoll ${role} --help`);
  });

  test('a bad value in the environment is named by its variable', async () => {
    const running = command.start(['router'], { ATOLL_PORT: 'seven' });
    const ended = await running.ended();
    expect(ended.code).toBe(2);
    expect(ended.output).toContain('ATOLL_PORT');
  });

  test.each([
    'mysql:/atoll:secret-word@nowhere',
    'mysql://atoll:secret-word@nowhere/orders',
    'atoll:secret-word@nowhere',
    'postgres://atoll:7/secret-word@nowhere/orders',
    'yugabytedb://atoll:7/secret-word@nowhere/orders',
  ])('a database URL that is none is refused without its password: %s', async (url) => {
    const ended = await atoll([...cellFlags(folder), '--postgres-url', url]);
    expect(ended.code).toBe(2);
    expect(ended.output).toMatch(/--postgres-url.*ATOLL_POSTGRES_URL.*%2F/);
    expect(ended.output).not.toContain('secret-word');
  });

  test('a fleet folder that is a file, and a damaged fleet map, are named', async () => {
    const file = join(folder, 'a-file');
    await writeFile(file, 'not a folder');
    const onFile = await atoll(['router', '--port', '0', '--fleet', file]);
    expect(onFile.code).toBe(1);
    expect(onFile.output).toContain(file);
    const damaged = join(folder, 'damaged');
    await mkdir(damaged);
    await writeFile(join(damaged, '000000000003.json'), '{"format":');
    const onDamaged = await atoll(['router', '--port', '0', '--fleet', damaged]);
    expect(onDamaged.code).toBe(1);
    expect(onDamaged.output).toMatch(/damaged/);
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
    const first = command.start([...flags, '--shards', '4']);
    await first.ready();
    first.kill('SIGINT');
    await first.ended();
    const ended = await atoll([...flags, '--shards', '8']);
    expect(ended.code).toBe(1);
    expect(ended.output).toMatch(/4.*8|8.*4/);
  });

  test('a cell on another database than its own is refused, unless that is said', async () => {
    const [own, other] = [server.url('own_database'), server.url('other_database')];
    const flags = [...cellFlags(folder), '--shards', '4', '--fleet', join(folder, 'database')];
    const first = command.start([...flags, '--postgres-url', own]);
    await first.ready();
    first.kill('SIGINT');
    await first.ended();
    const refused = await atoll([...flags, '--postgres-url', other]);
    expect(refused.code).toBe(1);
    expect(refused.output).toMatch(/this one is new: check --postgres-url.*--new-database/);
    const anew = command.start([...flags, '--postgres-url', other, '--new-database']);
    await anew.ready();
    anew.kill('SIGINT');
    expect((await anew.ended()).code).toBe(0);
    expect((await atoll([...flags, '--postgres-url', own])).output).toContain('has its workflows');
  });

  test('a data folder of another user is named and left alone', async () => {
    const data = join(folder, 'foreign');
    await mkdir(join(data, 'postgres'), { recursive: true });
    await writeFile(join(data, 'postgres', 'letter.txt'), 'not a database');
    const ended = await atoll(['dev', '--port', '0', '--data', data]);
    expect(ended.code).toBe(1);
    expect(ended.output).toContain(join(data, 'postgres'));
  });

  test('a second engine on one data folder is refused by the name of the first, which goes on', async () => {
    const flags = ['dev', '--port', '0', '--data', join(folder, 'data'), '--log-format', 'json'];
    const first = command.start(flags);
    await first.ready();
    const second = await atoll(flags);
    expect(second.code).toBe(1);
    expect(second.output).toContain(`in use by another engine (process ${first.child.pid})`);
    first.kill('SIGINT');
    expect((await first.ended()).code).toBe(0);
  });

  test('a second cell on one database takes over, and the first ends with the code that says so', async () => {
    const url = server.url('two_cells');
    const flags = [...cellFlags(folder), '--shards', '4', '--postgres-url', url];
    const fleet = ['--fleet', join(folder, 'two-cells')];
    const first = command.start([...flags, ...fleet]);
    const toFirst = rawCalls(await first.ready());
    const router = command.start(['router', '--port', '0', '--log-format', 'json', ...fleet]);
    const toRouter = rawCalls(await router.ready());
    const workflowExecutionRetentionPeriod = { seconds: 86_400 };
    const registration = { namespace: 'orders', workflowExecutionRetentionPeriod };
    await toRouter.call('RegisterNamespace', registration);
    const start = {
      ...{ namespace: 'orders', workflowId: 'w', requestId: 'r' },
      ...{ workflowType: { name: 'w' }, taskQueue: { name: 'q' } },
    };
    const { runId } = await toFirst.call('StartWorkflowExecution', start);
    const second = command.start([...flags, ...fleet]);
    await second.ready();
    // Whoever still calls the first one makes it look at its log.
    await toFirst
      .call('SignalWorkflowExecution', {
        ...{ namespace: 'orders', workflowExecution: { workflowId: 'w' }, signalName: 's' },
      })
      .catch(() => {});
    const fenced = await first.ended();
    expect(fenced.code).toBe(3);
    expect(fenced.output).toMatch(/another process took over.*second `atoll cell`/);
    await until(async () => {
      const execution = { workflowId: 'w' };
      const request = { namespace: 'orders', execution };
      const found = await toRouter
        .call('DescribeWorkflowExecution', request)
        .catch(() => undefined);
      return found?.workflowExecutionInfo?.execution?.runId === runId;
    });
    for (const calls of [toFirst, toRouter]) calls.close();
    router.kill('SIGINT');
    second.kill('SIGINT');
    expect((await second.ended()).code).toBe(0);
  });
});

function cellFlags(folder: string): string[] {
  return ['cell', '--cell-id', 'a', '--fleet', join(folder, 'fleet'), '--log-format', 'json'];
}
