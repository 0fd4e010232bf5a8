import { describe, expect, test } from 'vitest';
import { decodeBlob } from '../blob.ts';
import { COMPLETE, startTimer } from '../../history/testing/inputs.ts';
import { ShardLab } from '../testing/shard-lab.ts';

describe('what a checkpoint writes', () => {
  test('runs, histories, timers and tasks; what came and went in between never touches a table', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    await host.work('a', [startTimer('t', 60)]);
    await host.start('b');
    await host.work('b', [COMPLETE]);
    await host.settle();
    const { timers, tasks, runs, history } = lab.tables;
    expect([...timers.values()].map((row) => row.work)).toEqual(['t:5:t']);
    expect(tasks.size).toBe(0);
    expect([...runs.values()].map((row) => [row.workflowId, row.open])).toEqual([
      ['a', true],
      ['b', false],
    ]);
    expect(history.size).toBe(2);
    expect(lab.tables.log.size).toBe(1); // The takeover row stays.
  });

  test('timers and tasks are dropped once they are not wanted any more', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    await host.settle();
    expect(lab.tables.tasks.size).toBe(1);
    await host.work('a', [startTimer('t', 60)]);
    await host.settle();
    expect([lab.tables.tasks.size, lab.tables.timers.size]).toEqual([0, 1]);
    await host.ask('a', { kind: 'terminate', reason: '', identity: '' });
    await host.settle();
    expect([lab.tables.tasks.size, lab.tables.timers.size]).toEqual([0, 0]);
  });

  test('ledgers stay in their bounds, also over a takeover', async () => {
    const lab = new ShardLab({ ledgerSignalLimit: 3 });
    const host = await lab.host();
    await host.start('a');
    for (let i = 1; i <= 5; i += 1) {
      await host.signal('a', `s${i}`);
      if (i % 2 === 0) await host.settle();
    }
    const next = await lab.host();
    await next.signal('a', 's6');
    await next.signal('a', 's6');
    await next.settle();
    const [rows] = lab.tables.ledger.values();
    expect([...(rows?.keys() ?? [])].toSorted()).toEqual(['s4', 's5', 's6', 'start-a']);
  });
});

describe('unknown outcomes', () => {
  test('a checkpoint that lands late, after the owner read back that it had not, does not stop the next ones', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    let checkpoints = 0;
    host.fate = ({ kind }) =>
      kind === 'checkpoint' && (checkpoints += 1) === 1
        ? { kind: 'late', landMs: 500, failMs: 1 }
        : undefined;
    await host.settle(1_200); // Sent, failed, read back: not there.
    await host.signal('a'); // Meanwhile the log goes on.
    await host.settle(10_000);
    expect(lab.database.dump().shards[0]?.checkpoint).toBe(host.ownership.log.committed);
    expect(host.ownership.book.clean).toBe(true);
  });

  test('one whose answer was lost is found done and not written twice', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    host.fate = ({ kind }) =>
      kind === 'checkpoint' ? { kind: 'lost-reply', failMs: 1 } : undefined;
    await host.settle(10_000);
    expect(host.count('checkpoint')).toBe(1);
    expect(host.ownership.log.checkpoint).toBe(host.ownership.log.committed);
  });

  test('another range at the read-back ends the ownership', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    await lab.host();
    await host.settle();
    expect(host.stops).toEqual([{ kind: 'lost', to: 2 }]);
  });
});

describe('the index', () => {
  test('what visibility has not acknowledged is remembered by a row, and indexed by the next owner', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    host.indexFails = true;
    await host.start('a');
    await host.settle(5_000);
    expect([...lab.tables.tasks.values()].map((row) => row.work).toSorted()).toEqual([
      'i',
      'w:2:1',
    ]);
    const next = await lab.host();
    await next.settle(5_000);
    expect(next.indexed.map((row) => row.workflowId)).toEqual(['a']);
    expect([...lab.tables.tasks.values()].map((row) => row.work)).toEqual(['w:2:1']);
  });

  test('a late acknowledgement does not bring an older row of a forgotten run back', async () => {
    const lab = new ShardLab({ cachedRunLimit: 1 });
    const host = await lab.host();
    host.indexFails = true;
    const reply = await host.start('a');
    await host.settle(3_000);
    for (const id of ['b', 'c', 'd']) await host.start(id);
    await host.settle(3_000);
    await host.signal('a');
    host.indexFails = false;
    await host.settle(20_000);
    const row = [...lab.tables.runs.values()].find((each) => each.workflowId === 'a');
    const [, state] = decodeBlob(row?.state ?? new Uint8Array(), 'run') as [number, object];
    expect(reply.kind).toBe('started');
    expect(state).toMatchObject({ transition: 2, signalCount: 1 });
  });

  test('rows that found no room in the queue come to the index later', async () => {
    const lab = new ShardLab({ indexQueueLimit: 2 });
    const host = await lab.host();
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => host.start(id)));
    await host.settle(30_000);
    expect(new Set(host.indexed.map((row) => row.workflowId)).size).toBe(5);
    expect([...lab.tables.tasks.values()].every((row) => row.work !== 'i')).toBe(true);
  });
});

test('a broken invariant in a plan stops the shard and not the process', async () => {
  const lab = new ShardLab();
  const host = await lab.host();
  await host.start('a');
  for (const run of host.ownership.book.dirtyRuns) {
    Object.defineProperty(run, 'chunks', {
      get: () => {
        throw new TypeError('a bug');
      },
    });
  }
  await host.settle();
  expect(host.stops).toMatchObject([{ kind: 'broken', cause: { message: 'a bug' } }]);
  await expect(host.signal('a')).rejects.toThrow('not served here');
});
