import { beforeEach, describe, expect, test } from 'vitest';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { settlePromises, VirtualClock } from '../../../kernel/testing/virtual-clock.ts';
import { checkpointOf, logRow, never, runKey, say, seq, shard } from '../conformance/samples.ts';
import type { AppendOutcome, LogRow } from '../shard-log.ts';
import { MemoryDatabase } from './memory-database.ts';
import { MemoryStore } from './memory-store.ts';
import type { StatementFate, StoreStatement } from './store-faults.ts';

let clock: VirtualClock;
let database: MemoryDatabase;
let store: MemoryStore;
let fates: StatementFate[];
let sent: StoreStatement[];

beforeEach(() => {
  clock = new VirtualClock();
  database = new MemoryDatabase({ clock, shardCount: 4 });
  fates = [];
  sent = [];
  const fateOf = (statement: StoreStatement): StatementFate => {
    sent.push(statement);
    return fates.shift() ?? { kind: 'ok' };
  };
  store = new MemoryStore(database, { clock, rng: new SeededRng(1), faults: { fateOf } });
});

/** Sends one append of this fate; `outcome` is set once the caller hears. */
async function appendWith(
  fate: StatementFate,
  row: LogRow,
  signal: AbortSignal = never,
): Promise<{ outcome: string | undefined }> {
  const { session } = await store.verify([], never);
  fates.push(fate);
  const heard: { outcome: string | undefined } = { outcome: undefined };
  const hear = ([outcome]: readonly AppendOutcome[]) => {
    heard.outcome = outcome?.kind;
  };
  void store.append([row], session, signal).then(hear);
  await settlePromises();
  return heard;
}

function stored(): readonly string[] {
  return say(database.dump().log);
}

describe('the fate of an append', () => {
  const table: readonly (readonly [
    string,
    StatementFate,
    string | undefined,
    string | undefined,
    number,
  ])[] = [
    // what, fate, heard at once, heard after 100 ms, rows after 100 ms
    ['ok', { kind: 'ok' }, 'committed', 'committed', 1],
    ['slow to land', { kind: 'ok', landMs: 50 }, undefined, 'committed', 1],
    ['slow to answer', { kind: 'ok', answerMs: 50 }, undefined, 'committed', 1],
    ['lost reply', { kind: 'lost-reply', failMs: 10 }, undefined, 'unknown', 1],
    ['lost reply in silence', { kind: 'lost-reply' }, undefined, undefined, 1],
    ['late', { kind: 'late', landMs: 50, failMs: 10 }, undefined, 'unknown', 1],
    ['later than that', { kind: 'late', landMs: 150, failMs: 0 }, 'unknown', 'unknown', 0],
    ['lost', { kind: 'lost', failMs: 10 }, undefined, 'unknown', 0],
    ['rejected', { kind: 'rejected' }, 'unknown', 'unknown', 0],
    ['40001', { kind: 'conflict' }, 'unknown', 'unknown', 0],
  ];
  test.each(table)('%s', async (_, fate, atOnce, later, rows) => {
    const heard = await appendWith(fate, logRow([0, 1, 1]));
    expect(heard.outcome).toBe(atOnce);
    await clock.advanceSettled(100);
    expect(heard.outcome).toBe(later);
    expect(stored()).toHaveLength(rows);
  });

  test('a caller whose deadline passes hears unknown, and the statement lands all the same', async () => {
    const deadline = new AbortController();
    const heard = await appendWith({ kind: 'ok', landMs: 50 }, logRow([0, 1, 1]), deadline.signal);
    deadline.abort();
    await settlePromises();
    expect(heard.outcome).toBe('unknown');
    await clock.advanceSettled(50);
    expect(stored()).toEqual(['1 by 1']);
  });

  test('an echo lands again after truncation, as a stray row below the checkpoint', async () => {
    const range = await store.claim(shard(0), never);
    await appendWith({ kind: 'ok', echoMs: 50 }, logRow([0, 1, range]));
    expect(await store.checkpoint([checkpointOf([0, range, 0, 1])], never)).toEqual([0]);
    expect(stored()).toEqual([]);
    await clock.advanceSettled(50);
    expect(stored()).toEqual(['1 by 1']);
    expect(await store.tail(shard(0), never)).toEqual({ range: 1, checkpoint: 1, rows: [] });
  });

  test('a held key ends the statement after its timeout, and nothing of it lands', async () => {
    const held = database.hold(logRow([0, 1, 9]));
    const heard = await appendWith({ kind: 'ok' }, logRow([0, 1, 1]));
    await clock.advanceSettled(2_999);
    expect(heard.outcome).toBeUndefined();
    await clock.advanceSettled(1);
    expect(heard.outcome).toBe('unknown');
    held.rollback();
    expect(stored()).toEqual([]);
  });
});

test('each statement asks once for its fate, and says what it is', async () => {
  await store.claim(shard(1), never);
  await store.views.tasks(shard(2), { limit: 1 }, never);
  expect(sent.map(({ kind, shards }) => `${kind} ${shards.join()}`)).toEqual(['claim 1', 'read 2']);
});

test('a lost reply of a claim or a checkpoint leaves it done', async () => {
  const range = await store.claim(shard(0), never);
  fates.push({ kind: 'lost-reply', failMs: 0 });
  await expect(store.claim(shard(0), never)).rejects.toMatchObject({ code: 'unavailable' });
  expect((await store.position(shard(0), never)).range).toBe(range + 1);
});

test('a promoted standby lacks the newest statements, whatever they were, and no older one', async () => {
  const range = await store.claim(shard(0), never);
  await appendWith({ kind: 'ok' }, logRow([0, 1, range]));
  const before = database.dump();
  await appendWith({ kind: 'ok' }, logRow([0, 2, range]));
  const run = { ...runKey('w'), seq: seq(2), open: true, state: new Uint8Array([1]) };
  await store.checkpoint([checkpointOf([0, range, 0, 2], { views: { runs: [run] } })], never);
  await store.claim(shard(0), never);
  expect(database.dump().runs).toHaveLength(1);
  database.promoteStandby(3);
  expect(database.dump()).toEqual(before);
});

test('a statement that was on its way to the old primary never lands on the new one', async () => {
  const heard = await appendWith({ kind: 'ok', landMs: 50 }, logRow([0, 1, 1]));
  database.promoteStandby(0);
  await clock.advanceSettled(100);
  expect(stored()).toEqual([]);
  expect(heard.outcome).not.toBe('committed');
});

test('the same seed and the same calls take the same time', async () => {
  const run = async () => {
    const time = new VirtualClock();
    const data = new MemoryDatabase({ clock: time, shardCount: 1 });
    const slow = new MemoryStore(data, {
      clock: time,
      rng: new SeededRng(7),
      latencyMs: { from: 1, to: 100 },
    });
    const done: number[] = [];
    for (let call = 0; call < 5; call += 1) {
      void slow.claim(shard(0), never).then(() => done.push(time.monotonicMs()));
    }
    await time.runUntilIdle();
    return done;
  };
  const first = await run();
  expect(new Set(first).size).toBe(5);
  expect(await run()).toEqual(first);
});
