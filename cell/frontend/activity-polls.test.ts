import { beforeEach, expect, it } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import { settlePromises } from '../../kernel/testing/virtual-clock.ts';
import { sealToken, WORKFLOW_TASK_TOKEN } from '../../wire/task-token.ts';
import type { ActivityStartedReply, Reply } from '../history/decision.ts';
import type { TaskTaker } from '../history/input.ts';
import { FrontendLab, NS, RUN } from './testing/frontend-lab.ts';

const queue = { namespaceId: NS, kind: 'activity', name: 'tools' } as const;
const scheduled = { activityId: 'a1', activityType: { name: 'charge' } };
const command = {
  commandType: 1 as const,
  scheduleActivityTaskCommandAttributes: { ...scheduled, taskQueue: { name: 'tools' } },
};
const eager = {
  ...command,
  scheduleActivityTaskCommandAttributes: {
    ...command.scheduleActivityTaskCommandAttributes,
    requestEagerExecution: true,
  },
};

let lab: FrontendLab;
let taskToken: Uint8Array;

beforeEach(() => {
  lab = new FrontendLab();
  taskToken = sealToken(lab.tokens, WORKFLOW_TASK_TOKEN, {
    namespaceId: NS,
    workflowId: 'w',
    runId: RUN,
    scheduledEventId: 5,
    startedEventId: 6,
    attempt: 1,
    startedAt: 1,
    requestId: 'p',
    historyBytes: 1,
    suggestContinueAsNew: false,
    epoch: 7,
  });
});

function asked(): ReadonlyMap<number, TaskTaker> {
  const input = lab.engine.asked[0]?.input;
  return (input?.kind === 'complete-workflow-task' && input.activityPolls) || new Map();
}

/** The reply of a run that starts each activity which a poll came for. */
function startedAsAsked(): Reply {
  const activities = [...asked()].map(([index, { requestId, identity }]): ActivityStartedReply => {
    const activity = {
      scheduledEventId: 8 + index,
      scheduled,
      firstScheduledAt: 1_000,
      attempt: 1,
      scheduledAt: 1_000,
      started: { at: 1_000, requestId, identity, epoch: 7 },
      cancelRequestedEventId: 0,
    };
    const workflowType = 'order';
    const when = { startedAt: 1_000, scheduledEpoch: 7 };
    return { kind: 'activity-started', activity, scheduled, workflowType, ...when };
  });
  return { kind: 'workflow-task-completed', closed: false, newTask: false, activities };
}

/** The run answers when it is told what. */
function answerLater(): (reply: Reply) => void {
  let answer: (reply: Reply) => void = () => {};
  lab.engine.reply = () => new Promise((resolve) => (answer = resolve));
  return (reply) => answer(reply);
}

async function startPoll(signal = new AbortController().signal) {
  const seen: { answer?: Readonly<Record<string, unknown>> } = {};
  const request = { taskQueue: { name: 'tools' }, identity: 'waiting' };
  const poll = lab.call('PollActivityTaskQueue', request, { signal });
  void poll.then((answer) => (seen.answer = answer));
  await settlePromises();
  return seen;
}

function complete(...commands: readonly object[]) {
  return lab.call('RespondWorkflowTaskCompleted', { taskToken, commands });
}

it('a poll that waits gets an activity that was started for it, once its run has answered', async () => {
  const answer = answerLater();
  const poll = await startPoll();
  const completed = complete(command, command);
  await settlePromises();
  expect([...asked()]).toMatchObject([[0, { identity: 'waiting' }]]);
  expect(poll.answer).toBeUndefined();

  answer(startedAsAsked());
  expect((await completed)['activityTasks']).toEqual([]);
  await settlePromises();
  expect(poll.answer).toMatchObject({ activityId: 'a1', workflowExecution: { runId: RUN } });
  expect(lab.engine.startedTasks).toEqual([]);
  lab.engine.reply = () => Promise.resolve({ kind: 'done' });
  await lab.call('RespondActivityTaskCompleted', {
    taskToken: poll.answer?.['taskToken'] as Uint8Array,
  });
  expect(lab.engine.asked.at(-1)?.input).toMatchObject({ claim: { scheduledEventId: 8 } });
});

it('an activity that was started after its caller gave up goes to the next poll, under the same start', async () => {
  const answer = answerLater();
  await startPoll();
  const completed = complete(command).catch((error: unknown) => String(error));
  await lab.clock.advanceSettled(10_000);
  expect(await completed).toContain('may still take effect');
  answer(startedAsAsked());
  await settlePromises();
  expect(lab.engine.startedTasks).toMatchObject([
    { task: { scheduledEventId: 8, attempt: 1 }, requestId: asked().get(0)?.requestId },
  ]);
});

it('an activity reaches its poll although its namespace was closed here before the run answered', async () => {
  const answer = answerLater();
  const poll = await startPoll();
  const completed = complete(command);
  await settlePromises();
  lab.matching.release(NS);
  answer(startedAsAsked());
  await completed;
  await settlePromises();
  expect(poll.answer).toMatchObject({ activityId: 'a1', workflowExecution: { runId: RUN } });
});

it('an activity whose poll has left goes to the next one, under the same start', async () => {
  const answer = answerLater();
  const client = new AbortController();
  await startPoll(client.signal);
  const completed = complete(command);
  await settlePromises();
  client.abort(new AtollError('cancelled', 'gone'));
  answer(startedAsAsked());
  await completed;
  expect(lab.engine.startedTasks).toEqual([]);
  await startPoll();
  expect(lab.engine.startedTasks).toMatchObject([{ requestId: asked().get(0)?.requestId }]);
});

it.each<readonly [string, () => Promise<Reply>]>([
  [
    'was rejected',
    () => Promise.resolve({ kind: 'workflow-task-rejected', cause: 4, message: 'no' }),
  ],
  ['has an unknown outcome', () => Promise.reject(new AtollError('unavailable', 'away'))],
  [
    'closed its run',
    () => Promise.resolve({ kind: 'workflow-task-completed', closed: true, newTask: false }),
  ],
])('a poll waits on where the completion %s', async (_, reply) => {
  lab.engine.reply = reply;
  const poll = await startPoll();
  await complete(command).catch(() => {});
  await settlePromises();
  expect(asked().size).toBe(1);
  expect(poll.answer).toBeUndefined();
  expect(lab.matching.reserve(queue)?.identity).toBe('waiting');
});

it('a poll waits on where the worker takes the activity itself', async () => {
  lab.engine.reply = () => Promise.resolve(startedAsAsked());
  await startPoll();
  expect((await complete(eager))['activityTasks']).toMatchObject([{ activityId: 'a1' }]);
  expect(lab.matching.reserve(queue)?.identity).toBe('waiting');
});
