import { describe, expect, test } from 'vitest';
import { COMPLETE, startTimer } from '../../history/testing/inputs.ts';
import { LOST_ROWS } from '../testing/damage.ts';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { runKey } from '../../storage/memory/tables.ts';
import type { Seq, ShardId } from '../../storage/shard-log.ts';
import type { RunRef } from '../engine.ts';
import { NS, type Host } from '../testing/shard-lab.ts';
import { digest, forever, image, placed, storedInBoth, twoCells } from '../testing/two-hosts.ts';
import { UNREADABLE, UNSTORED } from './replicas.ts';

type Cells = Awaited<ReturnType<typeof twoCells>>;

/** A run `w` with a timer and a ledger, which both cells have stored. */
async function stored(config: Parameters<typeof twoCells>[0] = {}) {
  const cells = await twoCells(config);
  await cells.a.start('w');
  await cells.a.work('w', [startTimer('t', 86_400)]);
  await cells.a.signal('w', 'r1');
  return storedInBoth(cells);
}

const digestOf = async (host: Host, ref: RunRef) =>
  (await host.shards.replicas().digests([ref], { recompute: true }, forever))[0];

function lose(kind: string, { tables: stored }: Cells['labA'], run: RunRef): void {
  const damage = LOST_ROWS[kind];
  if (!damage?.({ stored, run, rng: new SeededRng(1) })) throw new Error(`nothing of ${kind}`);
}

describe.each(Object.keys(LOST_ROWS))('a run in memory of which the store lost %s', (kind) => {
  test('is told apart from what is stored, look after look, and goes on from memory', async () => {
    const { a, labA, ref } = await stored();
    lose(kind, labA, ref);
    const lost = { ...ref, history: UNSTORED, state: UNSTORED, execution: UNSTORED };
    expect(await digestOf(a, ref)).toEqual(lost);
    expect(await digestOf(a, ref)).toEqual(lost);
    expect(await digest(a, 'w')).toEqual(ref);
    expect((await image(a, 'w')).state.transition).toBe(ref.transition);
    expect(await a.shards.replicas().missing([ref], forever)).toEqual([]);
    await a.signal('w', 'r2');
    const { transition } = (await digest(a, 'w')) ?? ref;
    expect(transition).toBe(ref.transition + 1);
  });

  test('is as good as ever once its rows are back', async () => {
    const { a, labA, ref } = await stored();
    const { runs, executions, ledger, history, timers, tasks } = structuredClone(labA.tables);
    lose(kind, labA, ref);
    expect(await digestOf(a, ref)).toMatchObject({ state: UNSTORED });
    const { tables } = labA;
    for (const [key, row] of runs) tables.runs.set(key, row);
    for (const [key, row] of executions) tables.executions.set(key, row);
    for (const [key, rows] of ledger) tables.ledger.set(key, rows);
    for (const [key, rows] of history) tables.history.set(key, rows);
    for (const [key, row] of timers) tables.timers.set(key, row);
    for (const [key, row] of tasks) tables.tasks.set(key, row);
    expect(await digestOf(a, ref)).toEqual(ref);
  });

  test('in a replica is restored by the image of the acting cell, for the next owner too', async () => {
    const { a, b, labB, ref } = await stored();
    const { timers } = structuredClone(labB.tables);
    expect(timers.size).toBeGreaterThan(0);
    lose(kind, labB, ref);
    const accused = await digestOf(b, ref);
    expect(accused).toMatchObject({ state: UNSTORED });
    const replacing = { ...(await image(a, 'w')), replaces: accused ?? 'nothing' } as const;
    const answer = await b.shards.replicas().adopt(replacing, { repair: true }, forever);
    expect(answer.kind).toBe('applied');
    expect(await digestOf(b, ref)).toEqual(ref);
    await b.settle();
    expect(await digestOf(b, ref)).toEqual(ref);
    expect(labB.tables.timers).toEqual(timers);
    const next = await labB.host();
    next.placement = placed('1@1');
    expect(await digestOf(next, ref)).toEqual(ref);
  });
});

describe('what memory alone holds', () => {
  test('is no loss before its first checkpoint', async () => {
    const { a } = await twoCells();
    await a.start('w');
    await a.signal('w', 'r1');
    const ref = await digest(a, 'w');
    if (!ref) throw new Error('the run is not there');
    expect(await digestOf(a, ref)).toEqual(ref);
  });

  test('is no loss while a checkpoint of it is under way', async () => {
    const { a, ref } = await stored();
    await a.signal('w', 'r2');
    await a.signal('w', 'r3');
    const now = await digest(a, 'w');
    for (let i = 0; i < 60; i += 1) {
      expect(await digestOf(a, ref)).toEqual(now);
      await a.settle(50);
    }
  });

  test('is kept, once it is known to be lost from the store, whoever else needs the room', async () => {
    const { a, labA, ref } = await stored({ cachedRunLimit: 2 });
    lose('every row', labA, ref);
    expect(await digestOf(a, ref)).toMatchObject({ state: UNSTORED });
    for (const id of ['x', 'y', 'z']) {
      await a.start(id);
      await a.settle();
    }
    expect(await digestOf(a, ref)).toMatchObject({ state: UNSTORED });
  });

  test('is listed where that is asked for', async () => {
    const { a, labA, ref } = await stored();
    lose('every row', labA, ref);
    const replicas = a.shards.replicas();
    const ask = { shard: 0 as ShardId, namespaceId: NS, afterSeq: 0 as Seq };
    expect((await replicas.runsOf(ask, { limit: 9 }, forever)).runs).toEqual([]);
    const held = await replicas.runsOf({ ...ask, held: true }, { limit: 9 }, forever);
    expect(held.runs.map(({ runId }) => runId)).toEqual([ref.runId]);
  });

  test('is told by nobody who does not own the shard any more', async () => {
    const { a, labA, ref } = await stored();
    lose('every row', labA, ref);
    await labA.host();
    await expect(digestOf(a, ref)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

/** A run that ended, of whose workflow id the replica `next` has the newer run in memory, and no pointer stored. */
async function olderRun() {
  const { a, b, labA, labB, ship } = await twoCells();
  await a.start('w');
  await a.work('w', [COMPLETE]);
  const old = await digest(a, 'w');
  if (!old) throw new Error('the run is not there');
  await a.start('w', { requestId: 'again' });
  await ship('a');
  await a.settle();
  await b.settle();
  await b.shards.close();
  const next = await labB.host();
  next.placement = placed('1@1');
  await digest(next, 'w');
  lose('the pointer', labB, old);
  return { a, next, labA, labB, old };
}

test('an older run of a replica is restored, too, where memory has its workflow id alone', async () => {
  const { a, next, labA, labB, old } = await olderRun();
  const accused = await digestOf(next, old);
  expect(accused).toMatchObject({ state: UNSTORED, transition: old.transition });
  const whole = await a.shards.replicas().image(old, forever);
  const replacing = { ...whole, replaces: accused ?? 'nothing' } as const;
  const answer = await next.shards.replicas().adopt(replacing, { repair: true }, forever);
  expect(answer.kind).toBe('applied');
  await next.settle();
  expect(await digestOf(next, old)).toEqual(await digestOf(a, old));
  expect(labB.tables.executions.size).toBe(labA.tables.executions.size);
});

test('such a run that cannot be read, either, is restored by what a lane sends as a repair', async () => {
  const { a, next, labB, old } = await olderRun();
  const row = labB.tables.runs.get(runKey(old));
  if (!row) throw new Error('the run is not stored');
  labB.tables.runs.set(runKey(old), { ...row, state: row.state.subarray(0, 20) });
  expect(await digestOf(next, old)).toMatchObject({ state: UNSTORED, transition: 0 });
  const whole = await a.shards.replicas().image(old, forever);
  const answer = await next.shards.replicas().adopt(whole, { repair: true }, forever);
  expect(answer.kind).toBe('applied');
  await next.settle();
  expect(await digestOf(next, old)).toEqual(await digestOf(a, old));
});

test('a run whose workflow id has lost its row is damaged for the next owner, and not gone', async () => {
  const { labA, ref } = await stored();
  lose('the pointer', labA, ref);
  const next = await labA.host();
  next.placement = placed('1@1 active');
  const parts = { history: UNREADABLE, state: UNREADABLE, execution: UNREADABLE };
  expect(await digestOf(next, ref)).toMatchObject(parts);
  expect(await next.shards.replicas().missing([ref], forever)).toEqual([]);
});
