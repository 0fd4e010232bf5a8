import { beforeEach, describe, expect, it } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import type { RpcName } from '../../wire/services.ts';
import { ACTIVITY_TASK_TOKEN, sealToken, WORKFLOW_TASK_TOKEN } from '../../wire/task-token.ts';
import type { ActivityStartedReply, WorkflowTaskStartedReply } from '../history/decision.ts';
import { defaultFrontendConfig } from './config.ts';
import { FrontendLab, NS, RUN, runState } from './testing/frontend-lab.ts';

let lab: FrontendLab;
let workflowTask: Uint8Array;
let activityTask: Uint8Array;

beforeEach(() => {
  lab = new FrontendLab();
  const run = { namespaceId: NS, workflowId: 'w', runId: RUN };
  const task = { scheduledEventId: 5, attempt: 1, epoch: 7 };
  workflowTask = sealToken(lab.tokens, WORKFLOW_TASK_TOKEN, {
    ...run,
    ...task,
    startedEventId: 6,
    startedAt: 1,
    requestId: 'p',
    historyBytes: 1,
    suggestContinueAsNew: false,
  });
  activityTask = sealToken(lab.tokens, ACTIVITY_TASK_TOKEN, { ...run, ...task, activityId: 'a' });
  lab.engine.reply = () =>
    Promise.resolve({ kind: 'workflow-task-completed', closed: false, newTask: false });
});

const huge = { payloads: [{ data: new Uint8Array(2 * 1024 * 1024 + 1) }] };

describe('a completed workflow task', () => {
  it('brings its commands, its sticky queue and the wish for another task', async () => {
    await lab.call('RespondWorkflowTaskCompleted', {
      taskToken: workflowTask,
      identity: 'me',
      commands: [{ commandType: 3, startTimerCommandAttributes: { timerId: 't' } }],
      stickyAttributes: {
        workerTaskQueue: { name: 'sticky-1' },
        scheduleToStartTimeout: { seconds: 2 },
      },
      forceCreateNewWorkflowTask: true,
      sdkMetadata: { langUsedFlags: [1] },
    });
    expect(lab.engine.asked[0]?.input).toMatchObject({
      identity: 'me',
      commands: [{ kind: 'StartTimer', attributes: { timerId: 't' } }],
      sticky: { queue: 'sticky-1', scheduleToStartMs: 2_000 },
      forceNewTask: true,
      sdkMetadata: { langUsedFlags: [1] },
    });
  });

  it('without a sticky queue asks for none', async () => {
    await lab.call('RespondWorkflowTaskCompleted', { taskToken: workflowTask });
    expect(lab.engine.asked[0]?.input).toMatchObject({ sticky: undefined, forceNewTask: false });
  });

  it('hands out the answers to queries once it is accepted, and none when it is not', async () => {
    const queryResults = {
      good: { resultType: 1 as const, answer: { payloads: [{}] } },
      bad: { resultType: 2 as const, errorMessage: 'no such query' },
      huge: { resultType: 1 as const, answer: huge },
    };
    const request = { taskToken: workflowTask, queryResults };
    await lab.call('RespondWorkflowTaskCompleted', request);
    expect(lab.engine.answers.map(({ queryId, answer }) => [queryId, answer.kind])).toEqual([
      ['good', 'answered'],
      ['bad', 'failed'],
      ['huge', 'failed'],
    ]);
    lab.engine.answers.length = 0;
    lab.engine.reply = () => Promise.reject(new AtollError('not-found', 'too late'));
    expect((await lab.fail('RespondWorkflowTaskCompleted', request)).code).toBe('not-found');
    expect(lab.engine.answers).toEqual([]);
  });

  it('fails its task with the cause when a command is larger than 2 MB', async () => {
    await lab.call('RespondWorkflowTaskCompleted', {
      taskToken: workflowTask,
      commands: [{ commandType: 4, completeWorkflowExecutionCommandAttributes: { result: huge } }],
    });
    expect(lab.engine.asked[0]?.input).toMatchObject({
      kind: 'fail-workflow-task',
      cause: 37,
      failure: { message: expect.stringContaining('CompleteWorkflowExecution') },
    });
  });
});

it('a failed workflow task brings its cause and failure', async () => {
  const failure = { message: 'nondeterminism' };
  const request = { taskToken: workflowTask, cause: 24 as const, failure, identity: 'me' };
  expect(await lab.call('RespondWorkflowTaskFailed', request)).toEqual({});
  expect(lab.engine.asked[0]?.input).toMatchObject({
    kind: 'fail-workflow-task',
    cause: 24,
    failure,
    identity: 'me',
  });
});

describe('what comes with the answer to a workflow task', () => {
  const start = {
    scheduledEventId: 9,
    startedEventId: 10,
    attempt: 1,
    startedAt: 5_000,
    requestId: 'p',
    identity: 'me',
    historyBytes: 1,
    suggestContinueAsNew: false,
    epoch: 7,
  };
  const nextTask: WorkflowTaskStartedReply = {
    kind: 'workflow-task-started',
    start,
    scheduledAt: 4_000,
    workflowType: 'order',
    taskQueue: 'orders',
    previousStartedEventId: 6,
    lastStoredEventId: 9,
    branch: undefined,
    virtualEvents: [],
  };
  const scheduled = { activityId: 'a1', activityType: { name: 'charge' } };
  const activity: ActivityStartedReply = {
    kind: 'activity-started',
    activity: {
      scheduledEventId: 8,
      scheduled,
      firstScheduledAt: 1_000,
      attempt: 1,
      scheduledAt: 1_000,
      cancelRequestedEventId: 0,
    },
    scheduled,
    scheduledEpoch: 1,
    startedAt: 3_000,
    workflowType: 'order',
  };
  const eager = {
    commandType: 1 as const,
    scheduleActivityTaskCommandAttributes: { ...scheduled, requestEagerExecution: true },
  };
  const stickyAttributes = { workerTaskQueue: { name: 'sticky-1' } };

  function answerWith(more: object): void {
    const reply = {
      kind: 'workflow-task-completed',
      closed: false,
      newTask: true,
      ...more,
    } as const;
    lab.engine.reply = () => Promise.resolve(reply);
  }

  it('is asked for only where the worker asks', async () => {
    const requests = [{}, { returnNewWorkflowTask: true }, { commands: [eager] }];
    for (const request of requests) {
      await lab.call('RespondWorkflowTaskCompleted', { taskToken: workflowTask, ...request });
    }
    const asked = lab.engine.asked.map(({ input }) =>
      input.kind === 'complete-workflow-task'
        ? [input.nextTask !== undefined, input.activityPolls !== undefined]
        : [],
    );
    expect(asked).toEqual([
      [false, false],
      [true, false],
      [false, true],
    ]);
  });

  it('is the next task, with the events since the last for a sticky worker', async () => {
    lab.engine.show(runState({ nextEventId: 10 }));
    answerWith({ task: nextTask });
    const request = { taskToken: workflowTask, returnNewWorkflowTask: true };
    const sticky = await lab.call('RespondWorkflowTaskCompleted', { ...request, stickyAttributes });
    expect(sticky).toMatchObject({
      workflowTask: {
        startedEventId: 10,
        previousStartedEventId: 6,
        history: { events: [{ eventId: 7 }, { eventId: 8 }, { eventId: 9 }] },
      },
    });
    const whole = await lab.call('RespondWorkflowTaskCompleted', request);
    expect(whole['workflowTask']).toMatchObject({ history: { events: { length: 9 } } });
  });

  it('is every activity that the worker took upon itself, with its token', async () => {
    answerWith({ activities: [activity] });
    const request = { taskToken: workflowTask, commands: [eager] };
    const answer = await lab.call('RespondWorkflowTaskCompleted', request);
    const tasks = answer['activityTasks'] as { taskToken: Uint8Array }[];
    expect(tasks).toMatchObject([{ activityId: 'a1', workflowExecution: { runId: RUN } }]);
    await lab.call('RespondActivityTaskCompleted', { taskToken: tasks[0]?.taskToken });
    expect(lab.engine.asked.at(-1)?.input).toMatchObject({ claim: { scheduledEventId: 8 } });
  });

  it('stays away, but not the answer, when its history cannot be read', async () => {
    answerWith({ task: nextTask });
    const request = { taskToken: workflowTask, returnNewWorkflowTask: true };
    const answer = await lab.call('RespondWorkflowTaskCompleted', request);
    expect(answer['workflowTask']).toBeUndefined();
    expect(lab.warnings).toHaveLength(1);
  });

  it('is asked for by nobody where the cell is told not to', async () => {
    lab = new FrontendLab({ config: { ...defaultFrontendConfig, startsInline: false } });
    const request = { taskToken: workflowTask, returnNewWorkflowTask: true, commands: [eager] };
    await lab.call('RespondWorkflowTaskCompleted', request);
    expect(lab.engine.asked[0]?.input).toMatchObject({
      nextTask: undefined,
      commands: [{ kind: 'ScheduleActivityTask' }],
    });
    expect(lab.engine.asked[0]?.input).not.toHaveProperty('activityPolls');
  });

  it('is an error that SDKs know where events came that the worker had not seen', async () => {
    const message = 'UnhandledCommand: 2 new events came';
    lab.engine.reply = () => Promise.resolve({ kind: 'workflow-task-rejected', cause: 1, message });
    const error = await lab.fail('RespondWorkflowTaskCompleted', { taskToken: workflowTask });
    expect([error.code, error.message]).toEqual(['invalid-argument', 'UnhandledCommand']);
  });

  it('is the reason where a command was bad', async () => {
    const message = 'StartTimer has no timer id';
    lab.engine.reply = () => Promise.resolve({ kind: 'workflow-task-rejected', cause: 4, message });
    const error = await lab.fail('RespondWorkflowTaskCompleted', { taskToken: workflowTask });
    expect([error.code, error.message]).toEqual(['invalid-argument', message]);
  });
});

describe('an activity', () => {
  const details = { payloads: [{}] };
  const failure = { message: 'broken' };
  const byToken: readonly (readonly [rpc: RpcName, fields: object, kind: string])[] = [
    ['RespondActivityTaskCompleted', { result: details }, 'complete-activity'],
    ['RespondActivityTaskFailed', { failure, lastHeartbeatDetails: details }, 'fail-activity'],
    ['RespondActivityTaskCanceled', { details }, 'cancel-activity'],
    ['RecordActivityTaskHeartbeat', { details }, 'heartbeat-activity'],
  ];

  it.each(byToken)('is answered by token or by id with %s', async (rpc, fields, kind) => {
    await lab.call(rpc, { taskToken: activityTask, identity: 'me', ...fields });
    await lab.call(`${rpc}ById` as RpcName, { workflowId: 'w', activityId: 'a', ...fields });
    expect(lab.engine.asked).toMatchObject([
      {
        target: { runId: RUN },
        input: { kind, identity: 'me', claim: { scheduledEventId: 5, attempt: 1 }, ...fields },
      },
      {
        target: { workflowId: 'w', runId: undefined },
        input: { kind, claim: { scheduledEventId: 0, activityId: 'a', attempt: 0 }, ...fields },
      },
    ]);
  });

  it('whose result is larger than 2 MB fails for good, and says why', async () => {
    await lab.call('RespondActivityTaskCompleted', { taskToken: activityTask, result: huge });
    expect(lab.engine.asked[0]?.input).toMatchObject({
      kind: 'fail-activity',
      failure: {
        message: expect.stringContaining('result is larger'),
        serverFailureInfo: { nonRetryable: true },
      },
    });
  });

  it('that is gone is not found', async () => {
    lab.engine.reply = () => Promise.reject(new AtollError('not-found', 'no such activity'));
    const error = await lab.fail('RecordActivityTaskHeartbeat', { taskToken: activityTask });
    expect(error.code).toBe('not-found');
  });
});

describe('a goodbye', () => {
  const sticky = { namespaceId: NS, kind: 'workflow', name: 'sticky-1' } as const;
  const task = {
    kind: 'workflow-task',
    queue: sticky,
    workflowId: 'w',
    runId: RUN,
    scheduledEventId: 5,
    attempt: 1,
    scheduledAt: 0,
  } as const;

  it('moves workflow tasks by their run and queries to its normal queue', async () => {
    lab.engine.show(runState());
    lab.matching.offer(task);
    lab.matching.offer({ ...task, kind: 'query-task', queryId: 'q' });
    await lab.call('ShutdownWorker', { stickyTaskQueue: 'sticky-1', identity: 'me' });
    expect(lab.engine.asked).toMatchObject([
      { target: { workflowId: 'w', runId: RUN }, input: { kind: 'sticky-gone' } },
    ]);
    expect(lab.matching.backlog(sticky).tasks).toBe(0);
    expect(lab.matching.backlog({ ...sticky, name: 'orders' }).tasks).toBe(1);
  });

  it('succeeds also where a run cannot be moved, or no sticky queue is named', async () => {
    lab.matching.offer(task);
    lab.engine.reply = () => Promise.reject(new AtollError('unavailable', 'away'));
    expect(await lab.call('ShutdownWorker', { stickyTaskQueue: 'sticky-1' })).toEqual({});
    expect(await lab.call('ShutdownWorker', {})).toEqual({});
  });
});
