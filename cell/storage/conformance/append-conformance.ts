/** What every ShardLog does with appends, however the statement fares (PROTOCOLS 1). */
import { expect, test } from 'vitest';
import type { StorageHarness } from './harness.ts';
import {
  append,
  bytes,
  commit,
  logRow,
  never,
  range,
  say,
  seq,
  sessionOf,
  shard,
} from './samples.ts';

const MEGABYTE = 1 << 20;
const PATIENT = { timeout: 20_000 };

/** @param harness the fresh database of the test that runs */
export function appendConformance(harness: () => StorageHarness): void {
  test('rows of several shards are committed by one append, in whatever order they come', async () => {
    const store = await harness().connect();
    await commit(store, logRow([6, 1, 1]), logRow([0, 1, 1]), logRow([2, 1, 1]));
    expect(say(await harness().rows(shard(2)))).toEqual(['1 by 1']);
  });

  test('an append of nothing is answered with nothing', async () => {
    const store = await harness().connect();
    expect(await append(store, [])).toEqual([]);
  });

  test('the identical row sent again is committed, and is there once', async () => {
    const store = await harness().connect();
    const row = logRow([1, 1, 1]);
    await commit(store, row);
    await commit(store, row);
    expect(await harness().rows(shard(1))).toHaveLength(1);
  });

  test('a conflict fences its own shard by the range that it met, and no other shard', async () => {
    const store = await harness().connect();
    await commit(store, logRow([2, 1, 7], { takeover: true }));
    const outcomes = await append(store, [logRow([0, 1, 1]), logRow([2, 1, 3]), logRow([4, 1, 1])]);
    expect(outcomes).toEqual([
      { kind: 'committed' },
      { kind: 'fenced', by: range(7) },
      { kind: 'committed' },
    ]);
  });

  test('an append of a session that has ended is not sent', async () => {
    const store = await harness().connect();
    const old = await sessionOf(store);
    await store.breakConnections();
    const row = logRow([1, 1, 1]);
    expect(await store.log.append([row], old, never)).toEqual([{ kind: 'stale-session' }]);
    expect(await harness().rows(shard(1))).toEqual([]);
    const { session } = await store.log.verify([], never);
    expect(session).toBeGreaterThan(old);
    expect(await store.log.append([row], session, never)).toEqual([{ kind: 'committed' }]);
  });

  test('an append whose deadline has passed is unknown', async () => {
    const store = await harness().connect();
    const outcomes = await append(store, [logRow([1, 1, 1])], AbortSignal.abort());
    expect(outcomes).toMatchObject([{ kind: 'unknown' }]);
  });

  test('a statement lands after its connection was given up: the same row again is committed, another is fenced', async () => {
    const store = await harness().connect();
    const row = logRow([1, 1, 1]);
    const other = await harness().hold(logRow([1, 1, 9]));
    const deadline = new AbortController();
    const first = append(store, [row], deadline.signal);
    await harness().untilBlocked();
    deadline.abort();
    expect(await first).toMatchObject([{ kind: 'unknown' }]);
    await store.breakConnections();
    await other.rollback();
    await expect.poll(async () => say(await harness().rows(shard(1)))).toEqual(['1 by 1']);
    await commit(store, row);
    expect(await append(store, [logRow([1, 1, 2])])).toEqual([{ kind: 'fenced', by: range(1) }]);
  });

  test('a blocked key holds up the statement that it is in, and no shard whose row is sent alone', async () => {
    const store = await harness().connect();
    const rows = [logRow([0, 1, 1]), logRow([2, 1, 1]), logRow([4, 1, 1])] as const;
    const other = await harness().hold(logRow([2, 1, 9]));
    const session = await sessionOf(store);
    const deadline = new AbortController();
    const together = store.log.append(rows, session, deadline.signal);
    await harness().untilBlocked();
    const beside = ['unknown'];
    if (harness().appendsApart) {
      await expect.poll(() => harness().rows(shard(0)), PATIENT).toHaveLength(1);
      await expect.poll(() => harness().rows(shard(4)), PATIENT).toHaveLength(1);
      // A row is there to read before its answer has come: the deadline may still overtake that answer.
      beside.push('committed');
    }
    deadline.abort();
    const [first, second, third] = (await together).map(({ kind }) => kind);
    expect(second).toBe('unknown');
    expect(beside).toContain(first);
    expect(beside).toContain(third);
    const apart = new AbortController();
    const blocked = store.log.append([rows[1]], session, apart.signal);
    // The first statement may still land, so only the healthy shards' own rows can come of this.
    await other.rollback();
    const healthy = await Promise.all(
      [rows[0], rows[2]].map((row) => store.log.append([row], session, never)),
    );
    expect(healthy).toEqual([[{ kind: 'committed' }], [{ kind: 'committed' }]]);
    expect(await blocked).toEqual([{ kind: 'committed' }]);
  });

  test('healthy shards are appended while another one stays blocked', async () => {
    const store = await harness().connect();
    const other = await harness().hold(logRow([2, 1, 9]));
    const session = await sessionOf(store);
    const deadline = new AbortController();
    const blocked = store.log.append([logRow([2, 1, 1])], session, deadline.signal);
    await harness().untilBlocked();
    for (const [id, position] of [
      [0, 1],
      [4, 1],
      [0, 2],
      [1, 1],
    ] as const) {
      const outcome = await store.log.append([logRow([id, position, 1])], session, never);
      expect(outcome).toEqual([{ kind: 'committed' }]);
    }
    deadline.abort();
    expect(await blocked).toMatchObject([{ kind: 'unknown' }]);
    await other.rollback();
  });

  test('of many rows that are sent alone at once, only that with the blocked key waits', async () => {
    const store = await harness().connect();
    const other = await harness().hold(logRow([2, 1, 9]));
    const session = await sessionOf(store);
    const deadline = new AbortController();
    const blocked = store.log.append([logRow([2, 1, 1])], session, deadline.signal);
    const rows = Array.from({ length: 40 }, (_, index) =>
      logRow([(index % 4) * 2 + 1, index + 1, 1]),
    );
    const healthy = [...rows, logRow([0, 1, 1]), logRow([4, 1, 1]), logRow([6, 1, 1])];
    const outcomes = await Promise.all(
      healthy.map((row) => store.log.append([row], session, never)),
    );
    expect(new Set(outcomes.flat().map(({ kind }) => kind))).toEqual(new Set(['committed']));
    await harness().untilBlocked();
    deadline.abort();
    expect(await blocked).toMatchObject([{ kind: 'unknown' }]);
    await other.rollback();
  });

  test('rows of 1 MB and one larger than that are committed in one append and come back whole', async () => {
    const store = await harness().connect();
    const sizes = [MEGABYTE, 10, 3 * MEGABYTE, MEGABYTE - 10];
    const rows = sizes.map((size, index) =>
      logRow([index * 2, 1, 1], { record: Buffer.alloc(size, index + 1) }),
    );
    await commit(store, ...rows);
    for (const row of rows) {
      const tail = await store.log.tail(row.shard, never);
      expect(tail.rows.map(({ record }) => Buffer.compare(record, row.record))).toEqual([0]);
    }
  });

  test('a row comes back as it was appended', async () => {
    const store = await harness().connect();
    const row = logRow([3, 1, 1], { takeover: true, record: bytes('\u0000\u0001ÿ') });
    await commit(store, row);
    const [found] = (await store.log.tail(shard(3), never)).rows;
    expect(
      found && { ...found, nonce: Buffer.from(found.nonce), record: Buffer.from(found.record) },
    ).toEqual({
      ...row,
      seq: seq(1),
      nonce: Buffer.from(row.nonce),
      record: Buffer.from(row.record),
    });
  });
}
