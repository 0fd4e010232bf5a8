/** Takeover, verdicts and the fence (PROTOCOLS 1, 2, 4). */
import { expect, test } from 'vitest';
import type { Isolation, StorageHarness } from './harness.ts';
import {
  append,
  checkpointOf,
  commit,
  logRow,
  never,
  range,
  say,
  seq,
  shard,
  takeOver,
} from './samples.ts';

/** @param harness the fresh database of the test that runs */
export function ownershipConformance(harness: () => StorageHarness, isolation: Isolation): void {
  test('a shard that nobody ever owned is empty', async () => {
    const { log } = await harness().connect();
    expect(await log.position(shard(5), never)).toEqual({ range: 0, checkpoint: 0, end: 0 });
    expect(await log.tail(shard(5), never)).toEqual({ range: 0, checkpoint: 0, rows: [] });
  });

  test('a shard that does not exist is refused', async () => {
    const { log } = await harness().connect();
    await expect(log.claim(shard(8), never)).rejects.toMatchObject({ code: 'failed-precondition' });
    await expect(log.tail(shard(8), never)).rejects.toMatchObject({ code: 'failed-precondition' });
  });

  test('each claim hands out a larger range, whoever claims', async () => {
    const [one, two] = [await harness().connect(), await harness().connect()];
    expect(await one.log.claim(shard(0), never)).toBe(1);
    expect(await two.log.claim(shard(0), never)).toBe(2);
    expect(await one.log.claim(shard(1), never)).toBe(1);
    expect((await one.log.position(shard(0), never)).range).toBe(2);
  });

  test('a takeover fences the old owner, whose next seq is the takeover row', async () => {
    const [old, fresh] = [await harness().connect(), await harness().connect()];
    await takeOver(old, 0);
    await commit(old, logRow([0, 2, 1]));
    await takeOver(fresh, 0);
    expect(await append(old, [logRow([0, 3, 1])])).toEqual([{ kind: 'fenced', by: range(2) }]);
    const tail = await fresh.log.tail(shard(0), never);
    expect(tail).toMatchObject({ range: 2, checkpoint: 0 });
    expect(say(tail.rows)).toEqual(['1 by 1 takeover', '2 by 1', '3 by 2 takeover']);
  });

  test('an append that meets an open takeover waits for it, and never counts as committed once that commits', async () => {
    const store = await harness().connect();
    const row = logRow([0, 1, 1]);
    const takeover = await harness().hold(logRow([0, 1, 2], { takeover: true }));
    const appended = append(store, [row, logRow([2, 1, 1])]);
    await harness().untilBlocked();
    await takeover.commit();
    const [outcome, beside] = await appended;
    // At REPEATABLE READ 40001 undoes the whole statement; then the row sent again learns what it met.
    const answered = isolation === 'read committed' || harness().appendsApart;
    expect(outcome?.kind).toBe(answered ? 'fenced' : 'unknown');
    expect(beside?.kind).toBe(answered ? 'committed' : 'unknown');
    expect(await append(store, [row])).toEqual([{ kind: 'fenced', by: range(2) }]);
  });

  test('an append that meets an open takeover is committed once that rolls back', async () => {
    const store = await harness().connect();
    const takeover = await harness().hold(logRow([0, 1, 2], { takeover: true }));
    const appended = append(store, [logRow([0, 1, 1])]);
    await harness().untilBlocked();
    await takeover.rollback();
    expect(await appended).toEqual([{ kind: 'committed' }]);
  });

  test('a zombie that wakes after checkpoint and truncation lands on the fence, which truncation left', async () => {
    const [zombie, owner] = [await harness().connect(), await harness().connect()];
    await takeOver(zombie, 0);
    await commit(zombie, logRow([0, 2, 1]));
    await takeOver(owner, 0);
    await commit(owner, logRow([0, 4, 2]), logRow([1, 1, 1]));
    expect(await owner.log.checkpoint([checkpointOf([0, 2, 0, 4])], never)).toEqual([0]);
    expect(say(await harness().rows(shard(0)))).toEqual(['1 by 1 takeover', '3 by 2 takeover']);
    expect(await append(zombie, [logRow([0, 3, 1])])).toEqual([{ kind: 'fenced', by: range(2) }]);
    expect(await owner.log.position(shard(0), never)).toEqual({ range: 2, checkpoint: 4, end: 4 });
  });

  test('a stray row below the checkpoint changes nothing, and the next claim sweeps it', async () => {
    const owner = await harness().connect();
    await takeOver(owner, 0);
    const row = logRow([0, 2, 1]);
    await commit(owner, row);
    await owner.log.checkpoint([checkpointOf([0, 1, 0, 2])], never);
    await harness().landLate(row);
    expect(await owner.log.tail(shard(0), never)).toEqual({ range: 1, checkpoint: 2, rows: [] });
    expect(await owner.log.position(shard(0), never)).toMatchObject({ end: 2 });
    await takeOver(owner, 0);
    await expect
      .poll(async () => say(await harness().rows(shard(0))))
      .toEqual(['1 by 1 takeover', '3 by 2 takeover']);
  });

  test('a takeover row above the checkpoint survives the next claim', async () => {
    const owner = await harness().connect();
    for (let time = 0; time < 3; time += 1) await takeOver(owner, 0);
    expect(say((await owner.log.tail(shard(0), never)).rows)).toHaveLength(3);
  });

  test('verdicts: mine while the next row is absent or mine, lost once it is not', async () => {
    const store = await harness().connect();
    await takeOver(store, 0);
    await takeOver(store, 1);
    await takeOver(store, 2);
    await commit(store, logRow([1, 2, 1]));
    const claims = [0, 1, 2].map((id) => ({
      shard: shard(id),
      range: range(1),
      committed: seq(1),
    }));
    await takeOver(store, 2);
    expect((await store.log.verify(claims, never)).verdicts).toEqual([
      { kind: 'mine' },
      { kind: 'mine' },
      { kind: 'lost', to: range(2) },
    ]);
  });

  test('a claim at the checkpoint is mine although its row is gone', async () => {
    const store = await harness().connect();
    await takeOver(store, 0);
    await commit(store, logRow([0, 2, 1]));
    await store.log.checkpoint([checkpointOf([0, 1, 0, 2])], never);
    const { verdicts } = await store.log.verify(
      [{ shard: shard(0), range: range(1), committed: seq(2) }],
      never,
    );
    expect(verdicts).toEqual([{ kind: 'mine' }]);
  });

  test('a promoted standby that lacks an acknowledged row shows a hole, on another session', async () => {
    const store = await harness().connect();
    await takeOver(store, 0);
    const row = logRow([0, 2, 1]);
    await commit(store, row);
    const claim = { shard: shard(0), range: range(1), committed: seq(2) };
    const before = await store.log.verify([claim], never);
    expect(before.verdicts).toEqual([{ kind: 'mine' }]);
    await harness().promoteWithout(row);
    const stale = await store.log.append([logRow([0, 3, 1])], before.session, never);
    expect(stale).toEqual([{ kind: 'stale-session' }]);
    const after = await store.log.verify([claim], never);
    expect(after.session).toBeGreaterThan(before.session);
    expect(after.verdicts).toEqual([{ kind: 'hole' }]);
  });

  test('a row of an older range where mine was acknowledged is a hole too', async () => {
    const store = await harness().connect();
    await takeOver(store, 0);
    const mine = await takeOver(store, 0);
    const claim = { shard: shard(0), range: range(2), committed: seq(2) };
    await harness().promoteWithout(mine);
    await harness().landLate(logRow([0, 2, 1]));
    expect((await store.log.verify([claim], never)).verdicts).toEqual([{ kind: 'hole' }]);
  });
}
