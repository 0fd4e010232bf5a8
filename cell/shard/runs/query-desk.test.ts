import { describe, expect, test } from 'vitest';
import type { WorkflowTaskStartedReply } from '../../history/decision.ts';
import { COMPLETE, startTimer } from '../../history/testing/inputs.ts';
import { calling, outcomeOf, QUEUE, ShardLab, wf, type Host } from '../testing/shard-lab.ts';

function ask(host: Host, rejectCondition = 0) {
  const query = { queryType: 'state', rejectCondition };
  return host.shards.query(wf('a'), query, calling());
}

async function started(host: Host) {
  const task = await host.startTask(await host.poll());
  if (task.kind !== 'started') throw new Error(`the task was ${task.kind}`);
  return { ...task, reply: task.reply as WorkflowTaskStartedReply };
}

describe('a query', () => {
  test('rides on the workflow task that is pending', async () => {
    const host = await new ShardLab().host();
    const reply = await host.start('a');
    const runId = reply.kind === 'started' ? reply.runId : '';
    const asked = ask(host);
    await outcomeOf(asked);
    const { queries } = await started(host);
    const [id = ''] = queries.keys();
    host.shards.answerQuery({ ...wf('a'), runId }, id, { kind: 'answered' });
    host.shards.answerQuery({ ...wf('a'), runId }, id, { kind: 'failed', message: 'twice' });
    expect(await asked).toEqual({ kind: 'answered' });
  });

  test('is a task of its own when none is pending, and shows what was signaled before', async () => {
    const host = await new ShardLab().host();
    await host.start('a');
    await host.work('a', [startTimer('t', 60)]);
    const asked = ask(host);
    await outcomeOf(asked);
    const task = await host.startTask(await host.poll());
    expect(task).toMatchObject({ kind: 'query', query: { queryType: 'state' } });
    const again = ask(host);
    await outcomeOf(again);
    await host.signal('a'); // A workflow task comes up first: the query rides on it.
    const taken = await host.poll();
    expect(taken.kind).toBe('query-task');
    expect(await host.startTask(taken)).toEqual({ kind: 'obsolete' });
    expect((await started(host)).queries.size).toBeGreaterThan(0);
    await Promise.allSettled([]);
    host.shards.close().catch(() => {});
    await Promise.allSettled([asked, again]);
  });

  test('that rode on a task which ended without its answer is asked again', async () => {
    const host = await new ShardLab().host();
    const reply = await host.start('a');
    const runId = reply.kind === 'started' ? reply.runId : '';
    const asked = ask(host);
    await outcomeOf(asked);
    const task = await started(host);
    expect(task.queries.size).toBe(1);
    await host.complete('a', task.reply, [startTimer('t', 60)]);
    host.shards.askAgain({ ...wf('a'), runId });
    const own = await host.startTask(await host.poll());
    expect(own).toMatchObject({ kind: 'query', query: { queryType: 'state' } });
    void asked.catch(() => {});
  });

  test('that rode on the task of a run that was terminated is asked of the closed run', async () => {
    const host = await new ShardLab().host();
    await host.start('a');
    const asked = ask(host);
    await outcomeOf(asked);
    expect((await started(host)).queries.size).toBe(1);
    await host.ask('a', { kind: 'terminate', reason: '', identity: '' });
    expect(await host.startTask(await host.poll())).toMatchObject({ kind: 'query' });
    void asked.catch(() => {});
  });

  test('of a closed run is answered, or rejected as its caller wished', async () => {
    const host = await new ShardLab().host();
    await host.start('a');
    await host.work('a', [COMPLETE]);
    expect(await ask(host, 2)).toMatchObject({ kind: 'rejected' });
    const asked = ask(host);
    expect(await outcomeOf(asked)).toBe('waits');
    expect((await host.poll()).kind).toBe('query-task');
    void asked.catch(() => {});
  });

  test('is told at once that a run is not ready: start delay, or a task that keeps failing', async () => {
    const host = await new ShardLab().host();
    await host.start('a', { startDelayMs: 60_000 });
    await expect(ask(host)).rejects.toMatchObject({ detail: { type: 'WorkflowNotReadyFailure' } });
  });

  test('that nobody answers ends at its deadline, with the queue named', async () => {
    const host = await new ShardLab().host();
    await host.start('a');
    const asked = ask(host);
    const outcome = outcomeOf(asked);
    await outcome;
    await host.settle(60_000);
    expect(await outcomeOf(asked)).toContain('polling task queue "orders"');
    expect(host.ownership.memory.peek(wf('a'))?.run.queries?.size).toBe(0);
  });

  test('beyond the limit of a run is refused', async () => {
    const host = await new ShardLab({ queryLimit: 1 }).host();
    await host.start('a');
    const first = ask(host);
    const outcome = outcomeOf(first);
    await outcome;
    await expect(ask(host)).rejects.toThrow('queryLimit');
  });

  test('waits for the proof before it is offered', async () => {
    const host = await new ShardLab().host();
    await host.start('a');
    await host.work('a', [startTimer('t', 60)]);
    host.fate = ({ kind }) => (kind === 'verify' ? { kind: 'ok', answerMs: 500 } : undefined);
    const asked = ask(host);
    expect(await outcomeOf(asked)).toBe('waits');
    expect(host.matching.backlog(QUEUE).tasks).toBe(0);
    await host.settle(500);
    expect(host.matching.backlog(QUEUE).tasks).toBe(1);
    void asked.catch(() => {});
  });
});
