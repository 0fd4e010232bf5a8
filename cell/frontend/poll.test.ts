import { beforeEach, describe, expect, it } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import { settlePromises } from '../../kernel/testing/virtual-clock.ts';
import type { HistoryEvent } from '../../wire/events.ts';
import type { WorkflowTaskStartedReply } from '../history/decision.ts';
import type { PendingActivity, TaskStart } from '../history/state.ts';
import type { OfferedTask, QueueKey } from '../matching/matching.ts';
import type { StartedTask, WorkflowQuery } from '../shard/engine.ts';
import { FrontendLab, NS, RUN, runState } from './testing/frontend-lab.ts';

let lab: FrontendLab;

beforeEach(() => {
  lab = new FrontendLab();
  lab.engine.show(runState({ nextEventId: 6 }));
});

const workflowQueue: QueueKey = { namespaceId: NS, kind: 'workflow', name: 'orders' };
const stickyQueue: QueueKey = { ...workflowQueue, name: 'sticky-1' };
const activityQueue: QueueKey = { ...workflowQueue, kind: 'activity' };

function task(change: Partial<OfferedTask> = {}): OfferedTask {
  return {
    kind: 'workflow-task',
    queue: workflowQueue,
    workflowId: 'w',
    runId: RUN,
    scheduledEventId: 5,
    attempt: 1,
    scheduledAt: lab.clock.now(),
    ...change,
  };
}

const start: TaskStart = {
  scheduledEventId: 5,
  startedEventId: 6,
  attempt: 1,
  startedAt: 5_000,
  requestId: 'poll-1',
  identity: 'me',
  historyBytes: 500,
  suggestContinueAsNew: false,
  epoch: 7,
};

const startedEvent: HistoryEvent = {
  kind: 'WorkflowTaskStarted',
  eventId: 6,
  eventTime: 5_000,
  version: 7,
  attributes: { scheduledEventId: 5 },
};

function started(
  change: Partial<WorkflowTaskStartedReply> = {},
  queries: ReadonlyMap<string, WorkflowQuery> = new Map(),
): StartedTask {
  const reply: WorkflowTaskStartedReply = {
    kind: 'workflow-task-started',
    start,
    scheduledAt: 4_000,
    workflowType: 'order',
    taskQueue: 'orders',
    previousStartedEventId: 3,
    lastStoredEventId: 5,
    branch: undefined,
    virtualEvents: [startedEvent],
    ...change,
  };
  return { kind: 'started', reply, queries };
}

type Answer = Readonly<Record<string, unknown>>;

function poll(options: { deadlineMs?: number; signal?: AbortSignal; sticky?: boolean } = {}) {
  const { sticky, ...call } = options;
  const taskQueue = sticky ? { name: 'sticky-1', kind: 2 as const } : { name: 'orders' };
  return lab.call('PollWorkflowTaskQueue', { taskQueue, identity: 'me' }, call);
}

function eventIds(answer: Answer): string {
  const history = answer['history'] as { events?: readonly { eventId: number }[] } | undefined;
  return (history?.events ?? []).map((event) => event.eventId).join(' ');
}

describe('a poll', () => {
  it('that finds nothing is answered empty after a minute, not with an error', async () => {
    const answer = poll();
    await lab.clock.advanceSettled(60_000);
    expect(await answer).toEqual({});
    expect(lab.clock.pendingCount).toBe(0);
  });

  it('is answered empty a little before the deadline of its client', async () => {
    const answer = poll({ deadlineMs: 20_000 });
    await lab.clock.advanceSettled(19_500);
    expect(await answer).toEqual({});
  });

  it('passes over tasks that are obsolete or whose run is gone', async () => {
    const outcomes: (() => Promise<StartedTask>)[] = [
      () => Promise.resolve({ kind: 'obsolete' }),
      () => Promise.reject(new AtollError('not-found', 'gone')),
      () => Promise.resolve(started()),
    ];
    lab.engine.onStartTask = () => outcomes.shift()?.() ?? Promise.reject(new Error('no more'));
    for (let n = 0; n < 3; n++) lab.matching.offer(task());
    expect((await poll())['startedEventId']).toBe(6);
    expect(lab.matching.backlog(workflowQueue).tasks).toBe(0);
  });

  it('starts each task under a request id of its own', async () => {
    const kinds: StartedTask[] = [{ kind: 'obsolete' }, started()];
    lab.engine.onStartTask = () => Promise.resolve(kinds.shift() ?? { kind: 'obsolete' });
    lab.matching.offer(task());
    lab.matching.offer(task());
    await poll();
    expect(new Set(lab.engine.startedTasks.map((one) => one.requestId)).size).toBe(2);
  });

  it('gives its task back, first in line, when the shard is away', async () => {
    lab.engine.onStartTask = () => Promise.reject(new AtollError('unavailable', 'away'));
    lab.matching.offer(task());
    lab.matching.offer(task({ workflowId: 'second' }));
    await expect(poll()).rejects.toThrow('away');
    lab.engine.onStartTask = () => Promise.resolve(started());
    expect(await poll()).toMatchObject({ workflowExecution: { workflowId: 'w' } });
  });

  it('asks for a start whose outcome is unknown under the id of that start', async () => {
    lab.engine.onStartTask = () => Promise.reject(new AtollError('unavailable', 'away'));
    lab.matching.offer(task());
    await expect(poll()).rejects.toThrow('away');
    await expect(poll()).rejects.toThrow('away');
    lab.engine.onStartTask = () => Promise.resolve(started());
    await poll();
    expect(lab.engine.startedTasks).toHaveLength(3);
    expect(new Set(lab.engine.startedTasks.map((one) => one.requestId)).size).toBe(1);
  });

  it('gives its task back when the shard does not answer in time', async () => {
    lab.engine.onStartTask = () => new Promise(() => {});
    lab.matching.offer(task());
    const outcome = poll().catch((error: unknown) => String(error));
    await lab.clock.advanceSettled(10_000);
    expect(await outcome).toContain('did not end within');
    expect(lab.matching.backlog(workflowQueue).tasks).toBe(1);
  });

  it('whose client is gone takes no task', async () => {
    const client = new AbortController();
    const answer = poll({ signal: client.signal });
    await settlePromises();
    client.abort(new AtollError('cancelled', 'gone'));
    lab.matching.offer(task());
    expect(await answer).toEqual({});
    expect(lab.matching.backlog(workflowQueue).tasks).toBe(1);
  });

  it('gives back a task that it got as its client went', async () => {
    const client = new AbortController();
    const answer = poll({ signal: client.signal });
    await settlePromises();
    lab.matching.offer(task());
    client.abort(new AtollError('cancelled', 'gone'));
    expect(await answer).toEqual({});
    expect(lab.matching.backlog(workflowQueue).tasks).toBe(1);
    expect(lab.engine.startedTasks).toEqual([]);
  });
});

describe('a workflow task', () => {
  it('comes with all that a worker demands', async () => {
    lab.engine.onStartTask = () => Promise.resolve(started());
    lab.matching.offer(task());
    lab.matching.offer(task());
    expect(await poll()).toMatchObject({
      workflowExecution: { workflowId: 'w', runId: RUN },
      workflowType: { name: 'order' },
      workflowExecutionTaskQueue: { name: 'orders', kind: 1 },
      previousStartedEventId: 3,
      startedEventId: 6,
      attempt: 1,
      backlogCountHint: 1,
      scheduledTime: { seconds: 4 },
      startedTime: { seconds: 5 },
    });
  });

  it('shows the whole history, and at its end what history does not hold', async () => {
    lab.engine.onStartTask = () => Promise.resolve(started());
    lab.matching.offer(task());
    const answer = await poll();
    expect(eventIds(answer)).toBe('1 2 3 4 5 6');
    expect(answer['nextPageToken']).toBeUndefined();
  });

  it('shows a sticky worker only what came since its last task', async () => {
    lab.engine.onStartTask = () => Promise.resolve(started());
    lab.matching.offer(task({ queue: stickyQueue }));
    expect(eventIds(await poll({ sticky: true }))).toBe('4 5 6');
  });

  it('of a long history goes on in pages, whose last one holds the events that no store has', async () => {
    lab.engine.eventsPerPage = 2;
    lab.engine.onStartTask = () => Promise.resolve(started());
    lab.matching.offer(task());
    const first = await poll();
    const pages = [eventIds(first)];
    let token = first['nextPageToken'] as Uint8Array | undefined;
    while (token !== undefined) {
      const request = { execution: { workflowId: 'w', runId: RUN }, nextPageToken: token };
      const next = await lab.call('GetWorkflowExecutionHistory', request);
      pages.push(eventIds(next));
      token = next['nextPageToken'] as Uint8Array | undefined;
    }
    expect(pages).toEqual(['1 2', '3 4', '5 6']);
  });

  it('carries the queries that ride on it', async () => {
    const query = { queryType: 'state', args: { payloads: [] }, rejectCondition: 1 };
    lab.engine.onStartTask = () => Promise.resolve(started({}, new Map([['q1', query]])));
    lab.matching.offer(task());
    expect((await poll())['queries']).toMatchObject({ q1: { queryType: 'state' } });
  });

  it('is completed by its token: the claim is what the worker was shown', async () => {
    lab.engine.onStartTask = () => Promise.resolve(started());
    lab.matching.offer(task());
    const taskToken = (await poll())['taskToken'] as Uint8Array;
    lab.engine.reply = () =>
      Promise.resolve({ kind: 'workflow-task-completed', closed: false, newTask: false });
    await lab.call('RespondWorkflowTaskCompleted', { taskToken });
    expect(lab.engine.asked[0]).toMatchObject({
      target: { namespaceId: NS, workflowId: 'w', runId: RUN },
      input: { kind: 'complete-workflow-task', claim: start },
    });
  });
});

describe('a query task', () => {
  const query = { queryType: 'state', rejectCondition: 1 };

  beforeEach(() => {
    lab.engine.onStartTask = async () => {
      const call = { signal: new AbortController().signal, epoch: 7 };
      const view = await lab.engine.read({ namespaceId: NS, workflowId: 'w' }, call);
      return { kind: 'query', view, query };
    };
  });

  it('comes with the history as it is, and is answered by its token', async () => {
    lab.matching.offer(task({ kind: 'query-task', queryId: 'q9', scheduledEventId: 0 }));
    const answer = await poll();
    expect(answer).toMatchObject({ query: { queryType: 'state' }, previousStartedEventId: 3 });
    expect([eventIds(answer), answer['startedEventId']]).toEqual(['1 2 3 4 5', undefined]);
    const taskToken = answer['taskToken'] as Uint8Array;
    const queryResult = { payloads: [{}] };
    await lab.call('RespondQueryTaskCompleted', { taskToken, completedType: 1, queryResult });
    expect(lab.engine.answers).toMatchObject([
      { run: { runId: RUN }, queryId: 'q9', answer: { kind: 'answered', result: queryResult } },
    ]);
  });

  it('shows a sticky worker no events', async () => {
    const change = { kind: 'query-task', queryId: 'q', queue: stickyQueue } as const;
    lab.matching.offer(task(change));
    expect(eventIds(await poll({ sticky: true }))).toBe('');
  });
});

describe('an activity task', () => {
  const scheduled = {
    activityId: 'a1',
    activityType: { name: 'charge' },
    input: { payloads: [{}] },
    startToCloseTimeout: { seconds: 30 },
    retryPolicy: { maximumAttempts: 3 },
  };
  const activity: PendingActivity = {
    scheduledEventId: 5,
    scheduled,
    firstScheduledAt: 1_000,
    attempt: 2,
    scheduledAt: 2_000,
    cancelRequestedEventId: 0,
  };

  async function pollActivity(): Promise<Answer> {
    lab.engine.onStartTask = () =>
      Promise.resolve({
        kind: 'started',
        queries: new Map(),
        reply: {
          kind: 'activity-started',
          activity,
          scheduled,
          scheduledEpoch: 1,
          startedAt: 3_000,
          workflowType: 'order',
          heartbeatDetails: { payloads: [{}, {}] },
        },
      });
    lab.matching.offer(task({ kind: 'activity-task', queue: activityQueue, attempt: 2 }));
    return lab.call('PollActivityTaskQueue', { taskQueue: { name: 'orders' }, identity: 'me' });
  }

  it('comes with all that a worker demands', async () => {
    expect(await pollActivity()).toMatchObject({
      ...scheduled,
      workflowNamespace: 'shop',
      workflowType: { name: 'order' },
      workflowExecution: { workflowId: 'w', runId: RUN },
      scheduledTime: { seconds: 1 },
      currentAttemptScheduledTime: { seconds: 2 },
      startedTime: { seconds: 3 },
      attempt: 2,
      heartbeatDetails: { payloads: [{}, {}] },
      scheduleToCloseTimeout: { seconds: 0, nanos: 0 },
      startToCloseTimeout: { seconds: 30, nanos: 0 },
      heartbeatTimeout: { seconds: 0, nanos: 0 },
    });
  });

  it('is answered and beaten for by its token', async () => {
    const taskToken = (await pollActivity())['taskToken'] as Uint8Array;
    await lab.call('RespondActivityTaskCompleted', { taskToken, result: { payloads: [] } });
    lab.engine.reply = () => Promise.resolve({ kind: 'heartbeat', cancelRequested: true });
    const beat = await lab.call('RecordActivityTaskHeartbeat', { taskToken });
    expect(beat).toEqual({ cancelRequested: true });
    const claim = { scheduledEventId: 5, activityId: 'a1', attempt: 2 };
    expect(lab.engine.asked.map(({ input }) => input)).toMatchObject([
      { kind: 'complete-activity', claim, result: { payloads: [] } },
      { kind: 'heartbeat-activity', claim },
    ]);
  });
});
