import { describe, expect, test } from 'vitest';
import type { WorkflowTaskStartedReply } from '../../history/decision.ts';
import type { TaskStart } from '../../history/state.ts';
import { startTimer } from '../../history/testing/inputs.ts';
import type { OfferedTask } from '../../matching/matching.ts';
import { calling, NS, outcomeOf, wf, type Host } from '../testing/shard-lab.ts';
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
async function failedOver(ids: readonly string[] = ['w']) {
  const { a, b, ship, move } = await twoCells();
  for (const id of ids) await a.start(id);
  await ship('a');
  move('2@2', 'b');
  a.placement = placed('1@1 active');
  b.placement = { ...placed('2@2 active'), forced: 2 };
  await b.shards.replicas().observe(NS, forever);
  return { loser: a, host: b, ship };
}

async function startOf(host: Host, task: OfferedTask): Promise<TaskStart> {
  const started = await host.startTask(task, `poll-${Math.random()}`);
  if (started.kind !== 'started') throw new Error(`the task is ${started.kind}`);
  return (started.reply as WorkflowTaskStartedReply).start;
}

function completion(claim: TaskStart, worker?: string, timer = 't') {
  return {
    kind: 'complete-workflow-task',
    claim,
    identity: 'worker',
    commands: [startTimer(timer, 60)],
    forceNewTask: false,
    binaryChecksum: '',
    sticky: worker === undefined ? undefined : sticky(worker),
  } as const;
}

/** Takes the waiting task and completes it as this worker. */
async function complete(host: Host, worker?: string, timer = 't'): Promise<string> {
  const task = await host.poll();
  const start = await startOf(host, task);
  return host.ask('w', completion(start, worker, timer), task.runId).then(
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
    ...{ requestId: 'poll', identity: 'worker', historyBytes: 0, suggestContinueAsNew: false },
  };
  const old = completion(claim, 'w1');
  await expect(host.ask('w', old, state.runId)).rejects.toMatchObject({ code: 'not-found' });
  expect(await complete(host, 'w1')).toBe('not-found');
  expect(await complete(host, 'w1')).toBe('workflow-task-completed');
});

test('of more runs than are remembered nobody is refused: a backlog of them would be refused for ever', async () => {
  const { host } = await failedOver(['w', 'x', 'y']);
  const caches = new StaleCaches(2);
  const check = async ({ workflowId, runId }: OfferedTask, start: TaskStart) => {
    const asked = { run: { ...wf(workflowId), runId }, input: completion(start, 'w1'), forced: 2 };
    const outcome = await outcomeOf(caches.check(host.ownership, asked, calling()));
    return `${workflowId}: ${outcome === 'done' ? 'taken' : 'refused'}`;
  };
  const said: string[] = [];
  const inHand: (readonly [OfferedTask, TaskStart])[] = [];
  for (let polls = 0; polls < 5; polls += 1) {
    const task = await host.poll();
    const start = await startOf(host, task);
    inHand.push([task, start]);
    said.push(await check(task, start));
  }
  expect(said).toEqual(['w: refused', 'x: refused', 'y: taken', 'w: taken', 'x: taken']);
  const [, , y] = inHand;
  caches.taken({ ...wf('w'), runId: inHand[0]?.[0].runId ?? '' });
  expect(y && (await check(...y))).toBe('y: refused');
});
