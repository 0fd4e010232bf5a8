import { expect, test } from 'vitest';
import { asYugabyte, nodeOf, standInForYugabyte } from '../cell/storage/sql/testing/yb-servers.ts';
import { runSql } from '../cell/storage/sql/testing/raw-connection.ts';
import { useTestServer } from '../cell/storage/sql/testing/test-database.ts';
import { systemClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import { systemRng } from '../kernel/rng.ts';
import { openCellStorage, type KnownDatabase } from './cell-storage.ts';

const server = useTestServer();

function open(url: string, as: { readonly id?: string; readonly known?: KnownDatabase } = {}) {
  const ports = { clock: systemClock, rng: systemRng, log: silentLog };
  const storage = { kind: 'postgres', url } as const;
  return openCellStorage({ id: 'a', storage, shards: 8, ...as }, ports);
}

test('the scheme of the database URL chooses the adapter', async () => {
  const url = await server.emptiedDatabase();
  (await open(url)).close();
  // The adapter for YugabyteDB shows itself by what it asks of the server.
  await expect(open(asYugabyte(url))).rejects.toMatchObject({
    message: expect.stringContaining('yb_servers()'),
  });
  await standInForYugabyte(url, [nodeOf(url)]);
  const storage = await open(asYugabyte(url));
  const { session } = await storage.log.verify([], AbortSignal.timeout(10_000));
  expect(session).toBe(1);
  storage.close();
});

test('a database is of the cell that was the first to start on it, and keeps its id', async () => {
  const url = await server.emptiedDatabase();
  const first = await open(url);
  first.close();
  expect(first.databaseId).toMatch(/^[0-9a-f-]{36}$/);
  const again = await open(url, { known: { databaseId: first.databaseId } });
  again.close();
  expect(again.databaseId).toBe(first.databaseId);
  await expect(open(url, { id: 'b' })).rejects.toMatchObject({
    code: 'failed-precondition',
    message: expect.stringContaining('belongs to cell a, not to cell b'),
  });
  await expect(open(url, { known: { databaseId: 'other' } })).rejects.toMatchObject({
    code: 'failed-precondition',
    message: expect.stringContaining(`in database other, and this one is ${first.databaseId}`),
  });
});

test.each([
  ['mine', 'has its workflows in database mine, and this one is new: check --postgres-url'],
  [undefined, 'has its workflows in another database, and this one is new: check --postgres-url'],
])(
  'nothing is made in an empty database that a cell was led to by mistake, its own being %s',
  async (databaseId, message) => {
    const url = server.url(`empty_${databaseId}`);
    await expect(open(url, { known: { databaseId } })).rejects.toMatchObject({
      message: expect.stringContaining(message),
    });
    const other = await open(url, { id: 'b' });
    other.close();
  },
);

test('a database of an older release becomes the cell that the map knows without one', async () => {
  const url = server.url('older_release');
  (await open(url)).close();
  await runSql(url, 'DELETE FROM cell_identity');
  const storage = await open(url, { known: { databaseId: undefined } });
  storage.close();
  expect(storage.databaseId).toMatch(/^[0-9a-f-]{36}$/);
});
