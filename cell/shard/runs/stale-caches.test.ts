import { describe, expect, test } from 'vitest';
import type { WorkflowTaskStartedReply } from '../../history/decision.ts';
import { startTimer } from '../../history/testing/inputs.ts';
import { calling, NS, wf, type Host } from '../testing/shard-lab.ts';
import { forever, placed, twoCells } from '../testing/two-hosts.ts';
import { hasReplayed, StaleCaches } from './stale-caches.ts';

const sticky = (queue: string) => ({ queue, scheduleToStartMs: 5_000 });
const began = (epoch: number) => [{ epoch, transition: 1, eventId: 2 }];

describe('whether a worker has replayed a run since the failover of epoch 3', () => {
  test.each([
    ['the run began in it', { lineage: began(3), epoch: 3 }, true],
    ['the run began after it', { lineage: began(4), epoch: 4 }, true],
    ['the run began before it', { lineage: began(1), epoch: 3 }, false],
    ['it is sticky to the worker since', { lineage: began(1), epoch: 3, sticky: 'w' }, true],
    ['it was sticky to it before', { lineage: began(1), epoch: 2, sticky: 'w' }, false],
    ['it is sticky to another one', { lineage: began(1), epoch: 3, sticky: 'v' }, false],
    ['in doubt, sticky', { lineage: began(1), epoch: 3, sticky: 'w', doubted: true }, false],
    ['in doubt, the run began in it', { lineage: began(3), epoch: 3, doubted: true }, true],
  ])('%s: %j', (_, { lineage, epoch, ...run }, expected) => {
    const queue = 'sticky' in run ? run.sticky : undefined;
    const doubted = 'doubted' in run && run.doubted;
    const state = { lineage, epoch, sticky: queue === undefined ? undefined : sticky(queue) };
    expect(hasReplayed(state, { queue: 'w', forced: 3, doubted })).toBe(expected);
  });
});

/** A run of the first epoch, in a cell that became active by a failover, of which the other one has not heard; its task waits. */
async function failedOver() {
  const { a, b, ship, move } = await twoCells();
  await a.start('w');
  await ship('a');
  move('2@2', 'b');
  a.placement = placed('1@1 active');
  b.placement = { ...placed('2@2 active'), forced: 2 };
  await b.shards.replicas().observe(NS, forever);
  return { loser: a, host: b, ship };
}

/** Takes the waiting task and completes it as this worker. */
async function complete(host: Host, worker?: string, timer = 't'): Promise<string> {
  const task = await host.poll();
  const started = await host.startTask(task, `poll-${Math.random()}`);
  if (started.kind !== 'started') return started.kind;
  const { start } = started.reply as WorkflowTaskStartedReply;
  const input = {
    kind: 'complete-workflow-task',
    claim: start,
    identity: 'worker',
    commands: [startTimer(timer, 60)],
    forceNewTask: false,
    binaryChecksum: '',
    sticky: worker === undefined ? undefined : sticky(worker),
  } as const;
  const { runId } = task;
  return host.ask('w', input, runId).then(
    ({ kind }) => kind,
    (error: { code?: string }) => error.code ?? 'none',
  );
}

const timers = async (host: Host) =>
  (await host.shards.read(wf('w'), { signal: forever, epoch: 2 })).state.timers.size;

test('a worker that may remember a branch that lost is refused once, and the task is offered again', async () => {
  const { host } = await failedOver();
  expect(await complete(host, 'w1')).toBe('not-found');
  expect(await timers(host)).toBe(0);
  expect(await complete(host, 'w1')).toBe('workflow-task-completed');
  expect(await timers(host)).toBe(1);
});

test('each such worker is, and the one that the run is sticky to is not again', async () => {
  const { host } = await failedOver();
  expect(await complete(host, 'w1')).toBe('not-found');
  expect(await complete(host, 'w2')).toBe('not-found');
  expect(await complete(host, 'w2')).toBe('workflow-task-completed');
  await host.signal('w', 'next');
  expect(await complete(host, 'w2', 'another')).toBe('workflow-task-completed');
});

test('one that caches nothing is not refused', async () => {
  const { host } = await failedOver();
  expect(await complete(host)).toBe('workflow-task-completed');
});

test.each([
  ['a task was completed', 'not-found', (loser: Host) => complete(loser, 'w1')],
  ['none was', 'workflow-task-completed', (loser: Host) => loser.signal('w', 'of-a')],
])(
  'a branch is heard of after the worker was refused, and in it %s: its next answer is %s',
  async (_, answer, act) => {
    const { host, loser, ship } = await failedOver();
    await complete(host, 'w1');
    await complete(host, 'w1');
    await act(loser);
    await ship('a');
    await host.signal('w', 'next');
    expect(await complete(host, 'w1', 'another')).toBe(answer);
    if (answer === 'workflow-task-completed') return;
    expect(await complete(host, 'w1', 'another')).toBe('workflow-task-completed');
  },
);

test('an answer to a task of before the failover tells nothing of its worker, which may not wait for it any more', async () => {
  const { host } = await failedOver();
  const { state } = await host.shards.read(wf('w'), { signal: forever, epoch: 2 });
  const claim = {
    ...{ scheduledEventId: 2, startedEventId: 3, attempt: 1, startedAt: state.lastAt, epoch: 1 },
    ...{ requestId: 'poll', historyBytes: 0, suggestContinueAsNew: false },
  };
  const input = {
    kind: 'complete-workflow-task',
    ...{ claim, identity: 'worker', commands: [] },
    ...{ forceNewTask: false, binaryChecksum: '', sticky: sticky('w1') },
  } as const;
  await expect(host.ask('w', input, state.runId)).rejects.toMatchObject({ code: 'not-found' });
  expect(await complete(host, 'w1')).toBe('not-found');
  expect(await complete(host, 'w1')).toBe('workflow-task-completed');
});

test('of more runs than are remembered nobody is refused: a backlog of them would be refused for ever', async () => {
  const caches = new StaleCaches(2);
  const run = { head: { lineage: began(1), epoch: 3, sticky: undefined } };
  const ownership = {
    at: (_: unknown, __: unknown, use: (found: unknown) => unknown) =>
      Promise.resolve(use({ run })),
    execute: () => Promise.resolve(undefined),
  } as unknown as Parameters<StaleCaches['check']>[0];
  const input = { kind: 'complete-workflow-task', claim: { epoch: 3 }, sticky: sticky('w') };
  const check = (runId: string) => {
    const asked = { run: { ...wf(runId), runId }, input, forced: 3 };
    return caches
      .check(ownership, asked as unknown as Parameters<StaleCaches['check']>[1], calling())
      .then(
        () => 'taken',
        () => 'refused',
      );
  };
  const round = async () => [await check('1'), await check('2'), await check('3')];
  expect(await round()).toEqual(['refused', 'refused', 'taken']);
  expect(await round()).toEqual(['taken', 'taken', 'taken']);
  for (const runId of ['1', '2']) caches.taken({ ...wf(runId), runId });
  expect(await check('3')).toBe('refused');
});
