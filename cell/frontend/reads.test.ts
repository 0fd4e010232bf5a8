/** Describe, query, list and count, cancel and terminate: what they ask and how they answer. */
import { beforeEach, describe, expect, it } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import type { PendingActivity } from '../history/state.ts';
import type { IndexRow } from '../history/work.ts';
import { FrontendLab, NS, RUN, runState } from './testing/frontend-lab.ts';

const NEXT_RUN = '20000000-0000-4000-8000-000000000002';
let lab: FrontendLab;

beforeEach(() => {
  lab = new FrontendLab();
  lab.engine.show(runState());
});

const execution = { workflowId: 'w' };

describe('describe', () => {
  const activity: PendingActivity = {
    scheduledEventId: 5,
    scheduled: {
      activityId: 'a',
      activityType: { name: 'charge' },
      retryPolicy: { maximumAttempts: 4 },
      scheduleToCloseTimeout: { seconds: 100 },
    },
    firstScheduledAt: 1_000,
    attempt: 3,
    scheduledAt: 9_000,
    lastFailure: { message: 'card declined' },
    heartbeatDetails: { payloads: [{}] },
    lastHeartbeatAt: 4_000,
    lastIdentity: 'worker-1',
    cancelRequestedEventId: 0,
  };

  it('shows the run and how it was started', async () => {
    lab.engine.show(runState({ status: 2, closedAt: runState().start.startedAt + 5_000 }));
    expect(await lab.call('DescribeWorkflowExecution', { execution })).toMatchObject({
      executionConfig: {
        taskQueue: { name: 'orders' },
        workflowRunTimeout: { seconds: 60 },
        defaultWorkflowTaskTimeout: { seconds: 10 },
      },
      workflowExecutionInfo: {
        execution: { workflowId: 'w', runId: RUN },
        type: { name: 'order' },
        status: 2,
        historyLength: 5,
        historySizeBytes: 500,
        stateTransitionCount: 4,
        executionDuration: { seconds: 5 },
        taskQueue: 'orders',
      },
      pendingActivities: [],
      pendingWorkflowTask: undefined,
    });
  });

  it('shows a pending activity in back-off with its attempt, failure and heartbeat', async () => {
    lab.engine.show(runState({ activities: new Map([[5, activity]]) }));
    const answer = await lab.call('DescribeWorkflowExecution', { execution });
    expect(answer['pendingActivities']).toMatchObject([
      {
        activityId: 'a',
        state: 1,
        attempt: 3,
        maximumAttempts: 4,
        lastFailure: { message: 'card declined' },
        heartbeatDetails: { payloads: [{}] },
        lastHeartbeatTime: { seconds: 4 },
        nextAttemptScheduleTime: { seconds: 9 },
        expirationTime: { seconds: 101 },
        lastWorkerIdentity: 'worker-1',
      },
    ]);
  });

  it('tells started activities and those that shall end apart', async () => {
    const begun = { at: 10_000, requestId: 'r', identity: 'worker-2', epoch: 7 };
    const activities = new Map([
      [5, { ...activity, started: begun }],
      [6, { ...activity, scheduledEventId: 6, started: begun, cancelRequestedEventId: 9 }],
    ]);
    lab.engine.show(runState({ activities }));
    const answer = await lab.call('DescribeWorkflowExecution', { execution });
    expect(answer['pendingActivities']).toMatchObject([
      { state: 2, lastStartedTime: { seconds: 10 }, lastWorkerIdentity: 'worker-2' },
      { state: 3 },
    ]);
  });

  it('shows a pending workflow task', async () => {
    const workflowTask = {
      scheduledEventId: 5,
      attempt: 2,
      transient: true,
      scheduledAt: 3_000,
      firstScheduledAt: 1_000,
      notBefore: 0,
    };
    lab.engine.show(runState({ workflowTask }));
    const answer = await lab.call('DescribeWorkflowExecution', { execution });
    expect(answer['pendingWorkflowTask']).toMatchObject({
      state: 1,
      attempt: 2,
      scheduledTime: { seconds: 3 },
      originalScheduledTime: { seconds: 1 },
    });
  });

  it('is not found for a workflow of another namespace', async () => {
    const error = await lab.fail('DescribeWorkflowExecution', { namespace: 'other', execution });
    expect(error.code).toBe('not-found');
  });
});

describe('a query', () => {
  const query = { queryType: 'state' };

  it('is answered with its result', async () => {
    const result = { payloads: [{}] };
    lab.engine.onQuery = () => Promise.resolve({ kind: 'answered', result });
    expect(await lab.call('QueryWorkflow', { execution, query })).toEqual({ queryResult: result });
  });

  it('is rejected by the state of the run where the caller wants so', async () => {
    lab.engine.onQuery = () => Promise.resolve({ kind: 'rejected', status: 2 });
    const answer = await lab.call('QueryWorkflow', { execution, query, queryRejectCondition: 2 });
    expect(answer).toEqual({ queryRejected: { status: 2 } });
  });

  it('fails with the failure of the worker', async () => {
    const failure = { message: 'boom' };
    lab.engine.onQuery = () => Promise.resolve({ kind: 'failed', message: 'boom', failure });
    const error = await lab.fail('QueryWorkflow', { execution, query });
    expect([error.code, error.message, error.detail]).toEqual([
      'invalid-argument',
      'boom',
      { type: 'QueryFailedFailure', value: { failure } },
    ]);
  });

  it('without a worker ends in time and says what to look at', async () => {
    lab.engine.onQuery = (_query, call) =>
      new Promise((_resolve, reject) => {
        call.signal.addEventListener('abort', () => reject(call.signal.reason as Error));
      });
    const failing = lab.fail('QueryWorkflow', { execution, query });
    await lab.clock.advanceSettled(20_000);
    const error = await failing;
    expect([error.code, error.message]).toEqual([
      'deadline-exceeded',
      expect.stringContaining('is a worker polling'),
    ]);
    expect(lab.clock.pendingCount).toBe(0);
  });
});

describe('cancel and terminate', () => {
  it('ask the run that is named, or the current one', async () => {
    const named = { workflowId: 'w', runId: RUN.toUpperCase() };
    await lab.call('RequestCancelWorkflowExecution', { workflowExecution: named, reason: 'why' });
    await lab.call('TerminateWorkflowExecution', { workflowExecution: execution, identity: 'me' });
    expect(lab.engine.asked).toMatchObject([
      { target: { runId: RUN }, input: { kind: 'request-cancel', reason: 'why' } },
      { target: { runId: undefined }, input: { kind: 'terminate', identity: 'me' } },
    ]);
  });

  it('touch only the chain whose first run is named', async () => {
    const asked = { workflowExecution: execution, firstExecutionRunId: RUN };
    await lab.call('TerminateWorkflowExecution', asked);
    expect(lab.engine.asked[0]?.target.runId).toBe(RUN);
    const other = { workflowExecution: execution, firstExecutionRunId: NEXT_RUN };
    expect((await lab.fail('TerminateWorkflowExecution', other)).code).toBe('not-found');
    expect(lab.engine.asked).toHaveLength(1);
  });

  it('follow a chain that went on between the look and the request', async () => {
    let refusals = 1;
    lab.engine.reply = () => {
      if (refusals-- === 0) return Promise.resolve({ kind: 'done' });
      lab.engine.show(runState({ runId: NEXT_RUN }));
      return Promise.reject(new AtollError('not-found', 'closed'));
    };
    const asked = { workflowExecution: execution, firstExecutionRunId: RUN };
    await lab.call('RequestCancelWorkflowExecution', asked);
    expect(lab.engine.asked.map((one) => one.target.runId)).toEqual([RUN, NEXT_RUN]);
  });

  it('are not found for a run that closed and was the last', async () => {
    lab.engine.reply = () => Promise.reject(new AtollError('not-found', 'closed'));
    const asked = { workflowExecution: execution, firstExecutionRunId: RUN };
    expect((await lab.fail('TerminateWorkflowExecution', asked)).code).toBe('not-found');
    expect(lab.engine.asked).toHaveLength(1);
  });
});

describe('lists and counts', () => {
  const row = (name: string, change: Partial<IndexRow> = {}): IndexRow => ({
    namespaceId: NS,
    workflowId: name,
    runId: `run-${name}`,
    firstRunId: `run-${name}`,
    version: 1,
    workflowType: 'order',
    taskQueue: 'orders',
    status: 1,
    startedAt: 1_000,
    executionAt: 1_000,
    historyLength: 3,
    historyBytes: 30,
    ...change,
  });
  const ended = { status: 2, closedAt: 4_000 };

  beforeEach(async () => {
    const rows = [row('a'), row('b', ended), row('c', { ...ended, status: 3, workflowType: 'x' })];
    await lab.visibility.upsert(rows, new AbortController().signal);
  });

  const names = (answer: Readonly<Record<string, unknown>>) =>
    (answer['executions'] as { execution: { workflowId: string } }[])
      .map((one) => one.execution.workflowId)
      .join(' ');

  it('come in pages, whose token goes on with the same filter only', async () => {
    const first = await lab.call('ListWorkflowExecutions', { pageSize: 2 });
    const nextPageToken = first['nextPageToken'] as Uint8Array;
    const second = await lab.call('ListWorkflowExecutions', { pageSize: 2, nextPageToken });
    expect([names(first), names(second), second['nextPageToken']]).toEqual(['c b', 'a', undefined]);
    const query = `WorkflowType = 'order'`;
    const error = await lab.fail('ListWorkflowExecutions', { query, nextPageToken });
    expect(error.message).toContain('another filter');
    const other = { namespace: 'other', nextPageToken };
    expect((await lab.fail('ListWorkflowExecutions', other)).message).toContain(
      'another namespace',
    );
  });

  it('show what a filter finds, with times and status', async () => {
    const query = `ExecutionStatus = 'Completed'`;
    const answer = await lab.call('ListWorkflowExecutions', { query });
    expect(answer['executions']).toMatchObject([
      {
        execution: { workflowId: 'b', runId: 'run-b' },
        type: { name: 'order' },
        status: 2,
        startTime: { seconds: 1 },
        closeTime: { seconds: 4 },
        executionDuration: { seconds: 3 },
        historyLength: 3,
      },
    ]);
  });

  it('tell open and closed runs apart for older clients', async () => {
    expect(names(await lab.call('ListOpenWorkflowExecutions', {}))).toBe('a');
    const typeFilter = { name: 'order' };
    expect(names(await lab.call('ListClosedWorkflowExecutions', { typeFilter }))).toBe('b');
    const first = await lab.call('ListClosedWorkflowExecutions', { maximumPageSize: 1 });
    const nextPageToken = first['nextPageToken'] as Uint8Array;
    const second = await lab.call('ListClosedWorkflowExecutions', { nextPageToken });
    expect([names(first), names(second)]).toEqual(['c', 'b']);
  });

  it('count, in all and by status', async () => {
    const query = `WorkflowType = 'order'`;
    expect(await lab.call('CountWorkflowExecutions', { query })).toEqual({ count: 2 });
    const grouped = await lab.call('CountWorkflowExecutions', {
      query: 'GROUP BY ExecutionStatus',
    });
    const groups = grouped['groups'] as { groupValues: { data: Uint8Array }[]; count: number }[];
    expect(grouped['count']).toBe(3);
    expect(
      groups.map(({ groupValues: [value], count }) => [
        Buffer.from(value?.data ?? []).toString(),
        count,
      ]),
    ).toEqual([
      ['"Running"', 1],
      ['"Completed"', 1],
      ['"Failed"', 1],
    ]);
  });

  it('show who polls a task queue and what waits there', async () => {
    const queue = { namespaceId: NS, kind: 'activity', name: 'orders' } as const;
    const gone = new AbortController();
    const poll = lab.matching.poll(queue, { identity: 'me', signal: gone.signal });
    gone.abort();
    await poll;
    lab.matching.offer({
      kind: 'activity-task',
      queue,
      workflowId: 'w',
      runId: RUN,
      scheduledEventId: 5,
      attempt: 1,
      scheduledAt: lab.clock.now() - 2_000,
    });
    const asked = { taskQueue: { name: 'orders' }, taskQueueType: 2 as const };
    expect(await lab.call('DescribeTaskQueue', asked)).toMatchObject({
      pollers: [{ identity: 'me' }],
      stats: { approximateBacklogCount: 1, approximateBacklogAge: { seconds: 2 } },
    });
  });
});
