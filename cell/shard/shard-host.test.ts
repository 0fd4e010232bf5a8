import { describe, expect, test } from 'vitest';
import { settlePromises } from '../../kernel/testing/virtual-clock.ts';
import type { WorkflowTaskStartedReply } from '../history/decision.ts';
import { activity, COMPLETE, startTimer } from '../history/testing/inputs.ts';
import { shardOf } from './shard-of.ts';
import { ACTIVITIES, calling, NS, outcomeOf, ShardLab, wf } from './testing/shard-lab.ts';
import { forever, placed } from './testing/two-hosts.ts';

describe('idle', () => {
  test.each([0, 1_000])(
    'a cell with %i open runs and no load issues no statement',
    async (runs) => {
      const lab = new ShardLab();
      const host = await lab.host();
      await Promise.all(
        Array.from({ length: runs }, (_, i) => host.start(`wf-${i}`, { executionTimeoutMs: 9e9 })),
      );
      await host.settle(20 * 60_000);
      host.statements.length = 0;
      await host.settle(24 * 3_600_000);
      expect(host.statements).toEqual([]);
      expect(lab.tables.runs.size).toBe(runs);
    },
  );

  test('starts of one turn cost one read and one append', async () => {
    const host = await new ShardLab().host();
    host.statements.length = 0;
    await Promise.all(Array.from({ length: 100 }, (_, i) => host.start(`wf-${i}`)));
    expect(host.count('read')).toBe(1);
    expect(host.count('append')).toBe(1);
  });
});

describe('starts', () => {
  test('two starts of a new workflow id at once make one run', async () => {
    const host = await new ShardLab().host();
    const both = await Promise.allSettled([
      host.start('a', { requestId: 'one' }),
      host.start('a', { requestId: 'two' }),
    ]);
    expect(both.map((one) => one.status)).toEqual(['fulfilled', 'rejected']);
  });

  test('a refused start does not tell of a close that is not durable yet', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    await host.settle();
    host.fate = ({ kind }) => (kind === 'append' ? { kind: 'lost-reply' } : undefined);
    const closed = host.ask('a', { kind: 'terminate', reason: '', identity: '' });
    await settlePromises();
    // Reuse is rejected because of the close, whose outcome nobody knows: the refusal has to wait for it.
    const refused = host.start('a', { requestId: 'two', reusePolicy: 3 });
    expect(await outcomeOf(refused)).toBe('waits');
    host.fate = () => undefined;
    await host.settle(6_000);
    expect(await outcomeOf(closed)).toBe('done');
    expect(await outcomeOf(refused)).toContain('may not be used again');
  });

  test('an eager start is in force for the new run: nobody else is offered its task', async () => {
    const host = await new ShardLab().host();
    const eagerTask = { requestId: 'eager', identity: 'worker' };
    const reply = await host.start('a', { eagerTask });
    expect(
      host.matching.backlog({ namespaceId: 'ns', kind: 'workflow', name: 'orders' }).tasks,
    ).toBe(0);
    const task = reply.kind === 'started' ? reply.task : undefined;
    const done = await host.complete('a', task as WorkflowTaskStartedReply, [COMPLETE]);
    expect(done).toMatchObject({ kind: 'workflow-task-completed', closed: true });
  });
});

describe('reads', () => {
  test('an owner whose last row landed unheard does not answer when another one went on', async () => {
    const lab = new ShardLab();
    const old = await lab.host();
    await old.start('a');
    await old.settle();
    old.fate = ({ kind }) => (kind === 'append' ? { kind: 'lost-reply' } : undefined);
    void old.signal('a', 's1').catch(() => {});
    await settlePromises(); // Landed; the answer is lost.
    const next = await lab.host();
    await next.signal('a', 's2'); // Acknowledged by the new owner.
    const read = old.shards.read(wf('a'), calling());
    expect(await outcomeOf(read)).toBe('waits');
    old.fate = () => undefined;
    await lab.clock.advanceSettled(15_000);
    expect(await outcomeOf(read)).toMatch(/taken over|not served/);
  });

  test('a read shows the pointer that is durable, not the one that was decided', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    const first = await host.start('a');
    const runId = first.kind === 'started' ? first.runId : '';
    await host.ask('a', { kind: 'terminate', reason: '', identity: '' });
    await host.settle();
    let shown: unknown;
    void host.shards.read(wf('a', runId), calling()).then((view) => (shown = view));
    host.fate = ({ kind }) => (kind === 'append' ? { kind: 'lost' } : undefined);
    void host.start('a', { requestId: 'two' }).catch(() => {});
    await settlePromises();
    expect(shown).toMatchObject({ execution: { current: { runId } } });
  });

  test('a call that was aborted before leaves no rejection unheard', async () => {
    const host = await new ShardLab().host();
    await host.start('a');
    host.fate = ({ kind }) => (kind === 'verify' ? { kind: 'rejected' } : undefined);
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(host.shards.read(wf('a'), calling(gone))).rejects.toThrow('gone');
    await settlePromises();
  });

  test('long polls and queries end with the ownership', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    const reply = await host.start('a');
    const runId = reply.kind === 'started' ? reply.runId : '';
    const poll = host.shards.waitForEvents({ ...wf('a'), runId }, 99, calling());
    const query = { queryType: 'q', rejectCondition: 0 };
    const asked = host.shards.query(wf('a'), query, calling());
    const ended = Promise.allSettled([poll, asked]);
    expect(await outcomeOf(ended)).toBe('waits');
    await lab.host();
    void host.signal('a').catch(() => {});
    expect(await ended).toMatchObject([
      { reason: { message: expect.stringContaining('taken over') as unknown } },
      { reason: { message: expect.stringContaining('taken over') as unknown } },
    ]);
    expect(host.stops).toEqual([{ kind: 'lost', to: 2 }]);
  });
});

describe('history', () => {
  test('pages follow one another while a checkpoint moves events from memory to the views', async () => {
    const lab = new ShardLab({ recentHistoryBytes: 1 });
    const host = await lab.host();
    const reply = await host.start('a');
    const runId = reply.kind === 'started' ? reply.runId : '';
    const ref = { ...wf('a'), runId };
    for (let i = 0; i < 3; i += 1) await host.signal('a');
    await host.settle();
    for (let i = 0; i < 3; i += 1) await host.signal('a');
    // The read of the stored part is slow: meanwhile the checkpoint writes the rest and memory lets go of it.
    host.fate = ({ kind }) => (kind === 'read' ? { kind: 'ok', answerMs: 2_500 } : undefined);
    const range = { fromEventId: 1, toEventId: 99, maxBytes: 1 << 20 };
    const paged = host.shards.history(ref, range, calling());
    await host.settle(6_000);
    const page = await paged;
    host.fate = () => undefined;
    const again = await host.shards.history(ref, range, calling());
    expect(page.toEventId).toBe(8);
    expect(Buffer.concat([...page.chunks])).toEqual(Buffer.concat([...again.chunks]));
  });

  test('small pages are whole when joined, across rows and chunks', async () => {
    const lab = new ShardLab({ recentHistoryBytes: 1 });
    const host = await lab.host();
    const reply = await host.start('a');
    const ref = { ...wf('a'), runId: reply.kind === 'started' ? reply.runId : '' };
    for (let i = 0; i < 4; i += 1) {
      await host.signal('a');
      if (i % 2 === 0) await host.settle();
    }
    const whole = { fromEventId: 1, toEventId: 99, maxBytes: 1 << 20 };
    const all = Buffer.concat([...(await host.shards.history(ref, whole, calling())).chunks]);
    const parts: Uint8Array[] = [];
    for (let from = 1; from <= 6;) {
      const page = await host.shards.history(
        ref,
        { ...whole, fromEventId: from, maxBytes: 1 },
        calling(),
      );
      expect(page.toEventId).toBeGreaterThanOrEqual(from);
      parts.push(...page.chunks);
      from = page.toEventId + 1;
    }
    expect(Buffer.concat(parts)).toEqual(all);
  });
});

describe('tasks', () => {
  test('a task that left matching without being started is offered again', async () => {
    const host = await new ShardLab().host();
    await host.start('a');
    const task = await host.poll();
    const run = host.ownership.memory.peekRun({ ...wf('a'), runId: task.runId });
    expect(run).toBeDefined();
    if (run) host.ownership.work.offerAgain(run, task);
    expect((await host.poll()).scheduledEventId).toBe(task.scheduledEventId);
  });

  test('a crash brings back tasks, timers and activities', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('a');
    await host.work('a', [startTimer('t', 60), activity('x')]);
    await host.settle();
    await host.start('b'); // In the tail alone.
    const next = await lab.host();
    expect((await next.poll(ACTIVITIES)).workflowId).toBe('a');
    expect((await next.poll()).workflowId).toBe('b');
    await next.settle(61_000);
    expect((await next.poll()).workflowId).toBe('a');
  });

  test('of a shard that acts stay, and its polls, while another one stands by by an older map', async () => {
    const host = await new ShardLab({ shards: 2 }).host();
    const ids = Array.from({ length: 9 }, (_, i) => `wf-${i}`);
    const [ours = '', others = ''] = [0, 1].map((n) => ids.find((id) => shardOf(NS, id, 2) === n));
    host.placement = placed('4@4 active');
    await host.start(ours);
    host.placement = placed('3@3');
    const over = new AbortController();
    const poll = host.matching.poll(ACTIVITIES, { identity: 'worker', signal: over.signal });
    await expect(host.start(others)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await outcomeOf(poll)).toBe('waits');
    expect((await host.poll()).workflowId).toBe(ours);
    // And now there is none that acts.
    host.placement = placed('5@5');
    await host.shards.replicas().observe(NS, forever);
    expect(await outcomeOf(poll)).toBe('done');
    over.abort();
  });
});
