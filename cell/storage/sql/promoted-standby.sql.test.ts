import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ShardId } from '../shard-log.ts';
import { makeCluster, startServed, type Cluster } from './testing/served-postgres.ts';
import { idsOf, prepare, ShardPair } from './testing/shard-pair.ts';

let parent = '';
let base: Cluster;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'atoll-pair-'));
  base = await makeCluster(parent, 'base');
  const server = await startServed(base);
  await prepare(server);
  await server.stop();
});

afterAll(() => rm(parent, { recursive: true, force: true }));

test('a shard whose newest rows the promoted standby lacks stops and says so, and the others go on', async () => {
  const [torn, whole] = [0 as ShardId, 1 as ShardId];
  const [kept = '', lost = '', later = ''] = idsOf(torn, 3);
  const [beside = '', after = ''] = idsOf(whole, 2);
  const pair = await ShardPair.open(base, 'async', false);
  await pair.start(kept);
  await pair.start(beside);
  await pair.streamed();
  await pair.stopStreaming();
  await pair.start(lost);
  const claimed = await pair.claim(2 as ShardId);
  await pair.failOver();

  const before = await pair.rows(torn);
  await expect(pair.start(later)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/store lacks records that it had acknowledged/),
  });
  expect(pair.stops).toEqual([{ shard: torn, kind: 'hole' }]);
  // Not even what is there is served: what came after it is not known.
  await expect(pair.signal(kept)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await pair.rows(torn)).toBe(before);

  await pair.signal(beside);
  await pair.start(after);
  expect(pair.stops).toHaveLength(1);
  // The standby lacks that claim too, and hands out another range.
  expect(await pair.claim(2 as ShardId)).not.toBe(claimed);
  await pair.close();
});

test('with a synchronous standby nothing acknowledged is lost, and every shard goes on', async () => {
  const pair = await ShardPair.open(base, 'sync', true);
  const ids = [0, 1, 2, 3].flatMap((shard) => idsOf(shard, 5));
  await Promise.all(ids.map((id) => pair.start(id)));
  await pair.failOver();
  await Promise.all(ids.map((id) => pair.signal(id)));
  expect(pair.stops).toEqual([]);
  await pair.close();
});
