import { beforeEach, describe, expect, it } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import type { RpcName } from '../../wire/services.ts';
import { ACTIVITY_TASK_TOKEN, sealToken, WORKFLOW_TASK_TOKEN } from '../../wire/task-token.ts';
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
