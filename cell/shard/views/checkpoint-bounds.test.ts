import { expect, test } from 'vitest';
import { silentLog } from '../../../kernel/log.ts';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { VirtualClock } from '../../../kernel/testing/virtual-clock.ts';
import { startInput } from '../../history/testing/inputs.ts';
import { InMemoryMatching } from '../../matching/in-memory-matching.ts';
import { MemoryDatabase } from '../../storage/memory/memory-database.ts';
import { MemoryStore } from '../../storage/memory/memory-store.ts';
import type { ShardId } from '../../storage/shard-log.ts';
import { shardConfig, type ShardConfig } from '../config.ts';
import { ShardHost } from '../shard-host.ts';
import { calling, wf } from '../testing/shard-lab.ts';

const SHARDS = 4;

/** How many shards each checkpoint statement had, once every shard had something to write. */
async function statementsWith(bound: Partial<ShardConfig>): Promise<readonly number[]> {
  const clock = new VirtualClock();
  const rng = new SeededRng(3);
  const database = new MemoryDatabase({ clock, shardCount: SHARDS });
  const sizes: number[] = [];
  const store = new MemoryStore(database, {
    clock,
    rng,
    faults: {
      fateOf({ kind, shards }) {
        if (kind === 'checkpoint') sizes.push(shards.length);
        return { kind: 'ok' };
      },
    },
  });
  const host = new ShardHost({
    log: store,
    views: store.views,
    index: { upsert: async () => {} },
    matching: new InMemoryMatching({ clock }),
    clock,
    rng,
    logger: silentLog,
    config: shardConfig(bound),
    shardCount: SHARDS,
    shards: Array.from({ length: SHARDS }, (_, index) => index as ShardId),
    epochOf: () => 1,
    onShardStopped: () => {},
  });
  const opened = host.open();
  await clock.advanceSettled(100);
  await opened;
  sizes.length = 0;
  const ids = Array.from({ length: 40 }, (_, index) => `order-${index}`);
  await Promise.all(ids.map((id) => host.start(wf(id), startInput({ requestId: id }), calling())));
  await clock.advanceSettled(3_000);
  expect(database.dump().shards.every(({ checkpoint }) => checkpoint > 1)).toBe(true);
  return sizes;
}

test('all shards that changed share one statement', async () => {
  expect((await statementsWith({}))[0]).toBe(SHARDS);
});

test.each([
  ['shards', { checkpointStatementShards: 1 }],
  ['rows', { checkpointStatementRows: 10 }],
  ['bytes', { checkpointStatementBytes: 500 }],
])('a statement stays below its bound of %s, and no shard is left out', async (_, bound) => {
  const sizes = await statementsWith(bound);
  expect(sizes.length).toBeGreaterThanOrEqual(SHARDS);
  expect(new Set(sizes)).toEqual(new Set([1]));
});
