/** Checkpoints move under compare, or leave no trace (PROTOCOLS 3). */
import { expect, test } from 'vitest';
import type { StorageHarness } from './harness.ts';
import {
  bytes,
  checkpointOf,
  commit,
  logRow,
  never,
  runKey,
  say,
  seq,
  shard,
  takeOver,
} from './samples.ts';

/** @param harness the fresh database of the test that runs */
export function checkpointConformance(harness: () => StorageHarness): void {
  test('a checkpoint moves the shard, writes its views and cuts its log in one step', async () => {
    const store = await harness().connect();
    await takeOver(store, 0);
    await commit(store, logRow([0, 2, 1]));
    await commit(store, logRow([0, 3, 1]));
    const key = runKey('w');
    const run = { ...key, seq: seq(2), open: true, state: bytes('state') };
    const moved = await store.log.checkpoint(
      [checkpointOf([0, 1, 0, 2], { views: { runs: [run] } })],
      never,
    );
    expect(moved).toEqual([0]);
    expect(await store.views.runs([{ ...key, shard: shard(0) }], never)).toEqual([run]);
    const tail = await store.log.tail(shard(0), never);
    expect(tail.checkpoint).toBe(2);
    expect(say(tail.rows)).toEqual(['3 by 1']);
    expect(say(await harness().rows(shard(0)))).toEqual(['1 by 1 takeover', '3 by 1']);
  });

  test.each([
    ['of a range that is not the owner any more', [0, 1, 0, 2]],
    ['from a seq that is not the old checkpoint', [0, 2, 1, 2]],
    ['of a range that nobody has been given', [0, 3, 0, 2]],
    ['to a row that is another owner’s', [0, 2, 0, 2]],
  ] as const)('a checkpoint %s leaves no trace', async (_, at) => {
    const store = await harness().connect();
    await takeOver(store, 0);
    await commit(store, logRow([0, 2, 1]));
    await store.log.claim(shard(0), never);
    const key = runKey('w');
    const views = { runs: [{ ...key, seq: seq(2), open: true, state: bytes('x') }] };
    expect(await store.log.checkpoint([checkpointOf(at, { views })], never)).toEqual([]);
    expect(await store.views.runs([{ ...key, shard: shard(0) }], never)).toEqual([undefined]);
    expect(await store.log.position(shard(0), never)).toEqual({ range: 2, checkpoint: 0, end: 2 });
    expect(await harness().rows(shard(0))).toHaveLength(2);
  });

  test('of many shards in one checkpoint, those that lost their range do not move, and the others do', async () => {
    const store = await harness().connect();
    for (const id of [3, 0, 1]) await takeOver(store, id);
    await store.log.claim(shard(1), never);
    const keys = [3, 0, 1].map((id) => ({ ...runKey(`w${id}`), shard: shard(id) }));
    const batch = keys.map(({ shard: id, ...key }) =>
      checkpointOf([id, 1, 0, 1], {
        views: { runs: [{ ...key, seq: seq(1), open: true, state: bytes('s') }] },
      }),
    );
    const moved = await store.log.checkpoint(batch, never);
    expect(moved.toSorted((a, b) => a - b)).toEqual([0, 3]);
    const runs = await store.views.runs(keys, never);
    expect(runs.map((run) => run?.workflowId)).toEqual(['w3', 'w0', undefined]);
  });

  test('the log is cut no further than asked, and the next checkpoint cuts the rest', async () => {
    const store = await harness().connect();
    await takeOver(store, 0);
    for (let position = 2; position <= 5; position += 1)
      await commit(store, logRow([0, position, 1]));
    await store.log.checkpoint([checkpointOf([0, 1, 0, 4], { deleteTo: 2 })], never);
    expect(say(await harness().rows(shard(0)))).toEqual([
      '1 by 1 takeover',
      '3 by 1',
      '4 by 1',
      '5 by 1',
    ]);
    await store.log.checkpoint([checkpointOf([0, 1, 4, 5])], never);
    expect(say(await harness().rows(shard(0)))).toEqual(['1 by 1 takeover']);
  });

  test('rows that a lane still needs are read again, below the checkpoint too', async () => {
    const store = await harness().connect();
    await takeOver(store, 0);
    const rows = [2, 3, 4].map((position) => logRow([0, position, 1]));
    for (const row of rows) await commit(store, row);
    await store.log.checkpoint([checkpointOf([0, 1, 0, 3], { deleteTo: 2 })], never);
    const after = (position: number, limit = 9) =>
      store.log.rowsAfter(shard(0), { after: seq(position), limit }, never);
    const words = ({ record }: { readonly record: Uint8Array }) => Buffer.from(record).toString();
    expect((await after(1)).map(words)).toEqual(rows.slice(1).map(words));
    expect(say(await after(0, 2))).toEqual(['1 by 1 takeover', '3 by 1']);
    expect(await after(4)).toEqual([]);
  });

  test('the notes of a shard come back with its tail, until a checkpoint brings others', async () => {
    const store = await harness().connect();
    await takeOver(store, 0);
    const notes = async () => {
      const tail = await store.log.tail(shard(0), never);
      return tail.notes && Buffer.from(tail.notes).toString();
    };
    expect(await notes()).toBeUndefined();
    await store.log.checkpoint([checkpointOf([0, 1, 0, 1], { notes: bytes('one') })], never);
    expect(await notes()).toBe('one');
    await commit(store, logRow([0, 2, 1]));
    await commit(store, logRow([0, 3, 1]));
    await store.log.checkpoint([checkpointOf([0, 1, 1, 2])], never);
    expect(await notes()).toBe('one');
    await store.log.checkpoint([checkpointOf([0, 9, 2, 3], { notes: bytes('lost') })], never);
    expect(await notes()).toBe('one');
    await store.log.checkpoint([checkpointOf([0, 1, 2, 3], { notes: bytes('two') })], never);
    expect(await notes()).toBe('two');
  });

  test('a checkpoint sent twice moves once', async () => {
    const store = await harness().connect();
    await takeOver(store, 0);
    const checkpoint = checkpointOf([0, 1, 0, 1]);
    expect(await store.log.checkpoint([checkpoint], never)).toEqual([0]);
    expect(await store.log.checkpoint([checkpoint], never)).toEqual([]);
    expect((await store.log.position(shard(0), never)).checkpoint).toBe(1);
  });
}
