import { expect, test } from 'vitest';
import { asYugabyte, nodeOf, standInForYugabyte } from '../cell/storage/sql/testing/yb-servers.ts';
import { useTestServer } from '../cell/storage/sql/testing/test-database.ts';
import { systemClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import { systemRng } from '../kernel/rng.ts';
import { openCellStorage } from './cell-storage.ts';

const server = useTestServer();

function open(url: string, as: { readonly id?: string; readonly databaseId?: string } = {}) {
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
  const again = await open(url, { databaseId: first.databaseId ?? '' });
  again.close();
  expect(again.databaseId).toBe(first.databaseId);
  await expect(open(url, { id: 'b' })).rejects.toMatchObject({
    code: 'failed-precondition',
    message: expect.stringContaining('belongs to cell a, not to cell b'),
  });
  await expect(open(url, { databaseId: 'other' })).rejects.toMatchObject({
    code: 'failed-precondition',
    message: expect.stringContaining(`in database other, and this one is ${first.databaseId}`),
  });
});

test('nothing is made in an empty database that a cell was led to by mistake', async () => {
  const url = await server.emptiedDatabase();
  await expect(open(url, { databaseId: 'mine' })).rejects.toMatchObject({
    message: expect.stringContaining('this one is new: check --postgres-url'),
  });
  const other = await open(url, { id: 'b' });
  other.close();
});
