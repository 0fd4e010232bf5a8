import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import { silentLog } from '../../../kernel/log.ts';
import { never } from '../conformance/samples.ts';
import { openSqlStore, type SqlStore } from './sql-store.ts';
import { runSql } from './testing/raw-connection.ts';
import { useTestServer } from './testing/test-database.ts';

const server = useTestServer();

function open(url: string): Promise<SqlStore> {
  return openSqlStore({ url, clock: systemClock, log: silentLog });
}

async function refusal(url: string): Promise<string> {
  const error: unknown = await open(url).then(
    (store) => store.close(),
    (thrown: unknown) => thrown,
  );
  return error instanceof AtollError
    ? `${error.code}: ${error.message}`
    : `not refused: ${String(error)}`;
}

test('a missing database is created, migrated and provisioned, and a second start finds it so', async () => {
  const url = server.url('a-new "one"');
  for (let start = 0; start < 2; start += 1) {
    const store = await open(url);
    await store.migrate(never);
    await store.provision(4, never);
    store.close();
  }
  expect(await runSql(url, 'SELECT count(*)::int4 AS shards FROM shard')).toEqual([{ shards: 4 }]);
});

test('many processes may migrate and provision one database at once', async () => {
  const url = server.url('crowded');
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      const store = await open(url);
      await store.migrate(never);
      await store.provision(16, never);
      store.close();
    }),
  );
  expect(await runSql(url, 'SELECT count(*)::int4 AS shards FROM shard')).toEqual([{ shards: 16 }]);
});

test('a migration that was cut off goes on where it was', async () => {
  const url = server.url('cut');
  const first = await open(url);
  await first.migrate(never);
  await runSql(url, 'DROP TABLE task');
  await runSql(url, 'DELETE FROM schema_migration');
  await first.migrate(never);
  expect(await runSql(url, 'SELECT * FROM task')).toEqual([]);
  first.close();
});

test('another number of shards than the database has is refused with both numbers', async () => {
  const store = await open(await server.emptiedDatabase());
  await expect(store.provision(4_096, never)).rejects.toMatchObject({
    code: 'failed-precondition',
    message: expect.stringMatching(/holds 8 shards.* for 4096/),
  });
  store.close();
});

test('a server that is not there, and one that never answers, are named', async () => {
  const url = new URL(server.url('x'));
  url.port = '1';
  expect(await refusal(url.href)).toMatch(
    /^unavailable: cannot reach PostgreSQL at 127\.0\.0\.1:1 \(.*ECONNREFUSED/,
  );
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  url.port = typeof address === 'object' && address ? String(address.port) : '';
  expect(await refusal(url.href)).toMatch(/^unavailable: cannot reach PostgreSQL at .*timeout/);
  silent.close();
});

test('a wrong password is said, and not repeated', async () => {
  const url = new URL(server.url('x'));
  url.password = 'mistaken';
  const words = await refusal(url.href);
  expect(words).toMatch(/^unauthenticated: .*user "atoll".*check user and password/);
  expect(words).not.toContain('mistaken');
});

test('a user who may not create the missing database is told so', async () => {
  await runSql(server.url('postgres'), `CREATE ROLE guest LOGIN PASSWORD 'guest'`);
  const url = new URL(server.url('not-there'));
  url.username = 'guest';
  url.password = 'guest';
  expect(await refusal(url.href)).toMatch(
    /^permission-denied: .*no database "not-there".*"guest" may not create it/,
  );
});

test('a database with another encoding than UTF8 is refused', async () => {
  await runSql(
    server.url('postgres'),
    `CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`,
  );
  expect(await refusal(server.url('latin'))).toMatch(/^failed-precondition: .*LATIN1.*UTF8/);
});

test('statements fail while the database is down, the process lives on, and so do later statements', async () => {
  const url = await server.emptiedDatabase();
  const store = await open(url);
  const { session } = await store.log.verify([], never);
  await runSql(server.url('postgres'), 'ALTER DATABASE atoll_template ALLOW_CONNECTIONS false');
  await runSql(
    server.url('postgres'),
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'atoll_template'`,
  );
  await expect.poll(() => store.log.verify([], never).catch(() => 'down')).toBe('down');
  await expect(store.database.query('SELECT 1', [], { signal: never })).rejects.toMatchObject({
    code: 'unavailable',
  });
  await runSql(server.url('postgres'), 'ALTER DATABASE atoll_template ALLOW_CONNECTIONS true');
  expect((await store.log.verify([], never)).session).toBeGreaterThan(session);
  expect(await store.database.query('SELECT 1 AS one', [], { signal: never })).toEqual([
    { one: 1 },
  ]);
  store.close();
});
