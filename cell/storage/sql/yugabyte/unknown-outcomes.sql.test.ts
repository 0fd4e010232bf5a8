import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../kernel/clock.ts';
import { silentLog } from '../../../../kernel/log.ts';
import { append, checkpointOf, logRow, never, say, takeOver } from '../../conformance/samples.ts';
import { runSql } from '../testing/raw-connection.ts';
import { useTestServer } from '../testing/test-database.ts';
import { cuttableProxy } from '../testing/cuttable-proxy.ts';
import { asYugabyte, nodeOf, standInForYugabyte } from '../testing/yb-servers.ts';
import type { SqlStore } from '../sql-store.ts';
import { openYugabyteStore } from './yugabyte-store.ts';

const server = useTestServer();

function open(url: string): Promise<SqlStore> {
  const at = { url: asYugabyte(url), clock: systemClock, log: silentLog };
  return openYugabyteStore({ ...at, claimSpread: 1 });
}

async function opened(): Promise<{ readonly store: SqlStore; readonly url: string }> {
  const url = await server.emptiedDatabase();
  await standInForYugabyte(url, [nodeOf(url)]);
  return { store: await open(url), url };
}

/** Every insert into this shard's log fails with this SQLSTATE from now on, or never again. */
async function failInserts(url: string, code: string | undefined): Promise<void> {
  await runSql(url, 'DROP TRIGGER IF EXISTS failing ON shard_log');
  if (code === undefined) return;
  await runSql(
    url,
    `CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF NEW.shard_id = 2 THEN RAISE EXCEPTION 'made to fail' USING ERRCODE = '${code}'; END IF;
       RETURN NEW; END $$`,
  );
  await runSql(
    url,
    'CREATE TRIGGER failing BEFORE INSERT ON shard_log FOR EACH ROW EXECUTE FUNCTION fail()',
  );
}

test.each([
  ['40001', 'a conflict at snapshot isolation'],
  ['40P01', 'a deadlock'],
  ['57014', 'a statement that the server ended'],
  ['08006', 'a connection to another node that failed'],
  ['57P01', 'a node that shuts down'],
  ['57P03', 'a node that cannot serve now'],
  ['XX000', 'an error that nobody foresaw'],
])('%s, %s, is unknown for its shard alone, and the same row again is committed', async (code) => {
  const { store, url } = await opened();
  const rows = [logRow([0, 1, 1]), logRow([2, 1, 1]), logRow([4, 1, 1])] as const;
  await failInserts(url, code);
  const outcomes = await append({ ...store, breakConnections: async () => {} }, rows);
  expect(outcomes.map(({ kind }) => kind)).toEqual(['committed', 'unknown', 'committed']);
  await failInserts(url, undefined);
  const { session } = await store.log.verify([], never);
  expect(await store.log.append([rows[1]], session, never)).toEqual([{ kind: 'committed' }]);
  store.close();
});

test('of many checkpoints those that fail do not move, and the others do', async () => {
  const { store, url } = await opened();
  const process = { ...store, breakConnections: async () => {} };
  for (const id of [0, 1, 2]) await takeOver(process, id);
  await runSql(
    url,
    'ALTER TABLE shard ADD CONSTRAINT stuck CHECK (shard_id <> 1 OR checkpoint_seq = 0)',
  );
  const batch = [0, 1, 2].map((id) => checkpointOf([id, 1, 0, 1]));
  expect(await store.log.checkpoint(batch, never)).toEqual([0, 2]);
  await expect(store.log.checkpoint([checkpointOf([1, 1, 0, 1])], never)).rejects.toMatchObject({
    code: 'unavailable',
  });
  await runSql(url, 'ALTER TABLE shard DROP CONSTRAINT stuck');
  expect(await store.log.checkpoint([checkpointOf([1, 1, 0, 1])], never)).toEqual([1]);
  store.close();
});

test('a server without yb_servers() is refused, and the words name the other scheme', async () => {
  const url = await server.freshDatabase();
  await runSql(url, 'DROP FUNCTION IF EXISTS yb_servers()');
  await expect(open(url)).rejects.toMatchObject({
    code: 'failed-precondition',
    message: expect.stringMatching(/no yb_servers\(\).*postgres:\/\//),
  });
});

test('nodes that are away are passed over, and a session goes on with those that are there', async () => {
  const url = await server.emptiedDatabase();
  const [first, second] = [await cuttableProxy(url), await cuttableProxy(url)];
  const away = { host: '127.0.0.1', port: 1 };
  await standInForYugabyte(url, [away, nodeOf(first.url), nodeOf(second.url)]);
  const store = await open(first.url);
  const before = await store.log.verify([], never);
  const row = logRow([0, 1, 1]);
  expect(await store.log.append([row], before.session, never)).toEqual([{ kind: 'committed' }]);
  await first.close();
  second.cut();
  const session = () => store.log.verify([], never).then((verified) => verified.session);
  await expect
    .poll(() => session().catch(() => 0), { timeout: 20_000 })
    .toBeGreaterThan(before.session);
  const tail = () => store.log.tail(row.shard, never).then(({ rows }) => say(rows));
  await expect.poll(() => tail().catch(() => []), { timeout: 20_000 }).toEqual(['1 by 1']);
  store.close();
  await second.close();
});

test('a new database gets its tables, and none of the settings that only PostgreSQL has', async () => {
  await runSql(server.url('postgres'), 'CREATE DATABASE plain');
  const url = server.url('plain');
  await standInForYugabyte(url, [nodeOf(url)]);
  const store = await open(url);
  await store.migrate(never);
  await store.provision(4, never);
  store.close();
  const options = await runSql(
    url,
    `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND reloptions IS NOT NULL`,
  );
  expect(options).toEqual([]);
  const applied = await runSql(url, 'SELECT count(*)::int4 AS count FROM schema_migration');
  const all = readdirSync('cell/storage/migrations').length;
  expect(applied).toEqual([{ count: all }]);
});

test('the driver leaves no log file behind', async () => {
  const { store } = await opened();
  store.close();
  expect(existsSync('app.log')).toBe(false);
});
