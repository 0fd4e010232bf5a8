import { expect, test } from 'vitest';
import { asYugabyte, nodeOf, standInForYugabyte } from '../cell/storage/sql/testing/yb-servers.ts';
import { useTestServer } from '../cell/storage/sql/testing/test-database.ts';
import { systemClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import { systemRng } from '../kernel/rng.ts';
import { openCellStorage } from './cell-storage.ts';

const server = useTestServer();

function open(url: string) {
  const ports = { clock: systemClock, rng: systemRng, log: silentLog };
  return openCellStorage({ storage: { kind: 'postgres', url }, shards: 8 }, ports);
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
