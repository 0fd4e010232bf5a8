/** Activities as raw workers and describing clients meet them (BEHAVIOURS 17, 18). */
import { expect, test } from 'vitest';
import { RetryState, TimeoutType } from '../../wire/enums.ts';
import type { Command } from '../../wire/events.ts';
import {
  closes,
  command,
  eventsOf,
  kindsOf,
  refusal,
  seconds,
  text,
  until,
  type PolledActivity,
  type RawClient,
} from './testing/client.ts';
import { useCell } from './testing/use-cell.ts';

const client = useCell();
type Scheduled = Extract<Command, { kind: 'ScheduleActivityTask' }>['attributes'];
const ns = { namespace: 'default' };

/** A run with one activity `a` scheduled. */
async function scheduled(workflowId: string, fields: Scheduled = {}): Promise<RawClient> {
  const c = client();
  await c.start(workflowId);
  await c.work(schedule(fields));
  return c;
}

function schedule(fields: Scheduled = {}) {
  return command('ScheduleActivityTask', {
    activityId: 'a',
    activityType: { name: 'act' },
    startToCloseTimeout: seconds(30),
    retryPolicy: { initialInterval: seconds(0.05), backoffCoefficient: 1 },
    ...fields,
  });
}

function fail(c: RawClient, { taskToken }: PolledActivity, failure: object = {}) {
  const request = { ...ns, taskToken, identity: 'worker', failure: { message: 'no', ...failure } };
  return c.cell.call('RespondActivityTaskFailed', request);
}

function done(c: RawClient, { taskToken }: PolledActivity, value = 'ok') {
  return c.cell.call('RespondActivityTaskCompleted', { ...ns, taskToken, result: text(value) });
}

async function pending(c: RawClient, workflowId: string) {
  return (await c.describe(workflowId)).pendingActivities?.[0];
}

/** The last event but for the scheduled task after it. */
async function closing(c: RawClient, workflowId: string) {
  let events = await c.events(workflowId);
  await until(async () => {
    events = await c.events(workflowId);
    return events.at(-1)?.kind === 'WorkflowTaskScheduled';
  });
  return { kinds: kindsOf(events.slice(4)), last: events.at(-2)?.attributes };
}

test('a retry shows in describe and not in history, which gets the last attempt with its failure', async () => {
  const c = await scheduled('retried');
  const first = await c.activity();
  expect(first.attempt).toBe(1);
  expect(await pending(c, 'retried')).toMatchObject({ attempt: 1, state: 2 });
  await fail(c, first);
  expect(await pending(c, 'retried')).toMatchObject({
    attempt: 2,
    state: 1,
    lastFailure: { message: 'no' },
    lastWorkerIdentity: 'worker',
  });
  expect(await c.kinds('retried')).not.toContain('ActivityTaskStarted');
  await done(c, await c.activity());
  const events = await c.events('retried');
  expect(kindsOf(events.slice(5, 7))).toBe('ActivityTaskStarted ActivityTaskCompleted');
  expect(events[5]?.attributes).toMatchObject({ attempt: 2, lastFailure: { message: 'no' } });
});

test('heartbeat details are shown and go to the next attempt', async () => {
  const c = await scheduled('beats', { heartbeatTimeout: seconds(5) });
  const first = await c.activity();
  const beat = { ...ns, taskToken: first.taskToken, details: text('half') };
  expect((await c.cell.call('RecordActivityTaskHeartbeat', beat)).cancelRequested ?? false).toBe(
    false,
  );
  expect(await pending(c, 'beats')).toMatchObject({ heartbeatDetails: text('half') });
  await fail(c, first);
  expect((await c.activity()).heartbeatDetails).toEqual(text('half'));
});

test('a missed heartbeat retries; a heartbeat never extends start-to-close', async () => {
  const c = await scheduled('missed', {
    startToCloseTimeout: seconds(0.6),
    heartbeatTimeout: seconds(0.3),
    retryPolicy: { maximumAttempts: 1 },
  });
  const { taskToken } = await c.activity();
  const beating = setInterval(() => {
    c.cell.call('RecordActivityTaskHeartbeat', { ...ns, taskToken }).catch(() => {});
  }, 50);
  const { kinds, last } = await closing(c, 'missed').finally(() => clearInterval(beating));
  expect(kinds).toBe(
    'ActivityTaskScheduled ActivityTaskStarted ActivityTaskTimedOut TaskScheduled',
  );
  expect(last).toMatchObject({
    failure: { timeoutFailureInfo: { timeoutType: TimeoutType.StartToClose } },
    retryState: RetryState.MaximumAttemptsReached,
  });
});

test('schedule-to-close ends an activity during its back-off', async () => {
  const c = await scheduled('backing-off', {
    scheduleToCloseTimeout: seconds(0.5),
    retryPolicy: { initialInterval: seconds(0.3), backoffCoefficient: 1 },
  });
  await fail(c, await c.activity());
  const second = await c.activity();
  await fail(c, second);
  const { last } = await closing(c, 'backing-off');
  expect(last).toMatchObject({ retryState: RetryState.Timeout });
});

test('a schedule-to-start timeout is not retried and has no started event', async () => {
  const c = await scheduled('unpolled', { scheduleToStartTimeout: seconds(0.2) });
  const { kinds, last } = await closing(c, 'unpolled');
  expect(kinds).toBe('ActivityTaskScheduled ActivityTaskTimedOut TaskScheduled');
  expect(last).toMatchObject({
    failure: { timeoutFailureInfo: { timeoutType: TimeoutType.ScheduleToStart } },
  });
  expect((await c.pollActivity()).taskToken, 'its task is gone').toBeUndefined();
});

test('a cancel before the start closes the activity without a worker', async () => {
  const c = await scheduled('unstarted');
  await c.signal('unstarted', 'cancel');
  await c.work(command('RequestCancelActivityTask', { scheduledEventId: 5 }));
  expect((await c.kinds('unstarted')).split(' ').slice(9).join(' ')).toBe(
    'ActivityTaskCancelRequested ActivityTaskCanceled TaskScheduled',
  );
  expect((await c.pollActivity()).taskToken).toBeUndefined();
});

test('a started activity hears of its cancel by heartbeat, and reports it once', async () => {
  const c = await scheduled('cancelled');
  const { taskToken } = await c.activity();
  const early = c.cell.call('RespondActivityTaskCanceled', { ...ns, taskToken });
  expect(await refusal(early)).toMatchObject({ code: 'invalid-argument' });
  await c.signal('cancelled', 'cancel');
  await c.work(command('RequestCancelActivityTask', { scheduledEventId: 5 }));
  expect(await pending(c, 'cancelled')).toMatchObject({ state: 3 });
  const beat = await c.cell.call('RecordActivityTaskHeartbeat', { ...ns, taskToken });
  expect(beat.cancelRequested).toBe(true);
  await c.cell.call('RespondActivityTaskCanceled', { ...ns, taskToken, details: text('bye') });
  const again = c.cell.call('RespondActivityTaskCanceled', { ...ns, taskToken });
  expect(await refusal(again)).toMatchObject({ code: 'not-found' });
  expect(await c.kinds('cancelled')).toContain('ActivityTaskStarted ActivityTaskCanceled');
});

test('a cancelled activity that fails is not retried', async () => {
  const c = await scheduled('cancel-fails');
  const held = await c.activity();
  await c.signal('cancel-fails', 'cancel');
  await c.work(command('RequestCancelActivityTask', { scheduledEventId: 5 }));
  await fail(c, held);
  const { last } = await closing(c, 'cancel-fails');
  expect(last).toMatchObject({ retryState: RetryState.CancelRequested });
});

test.each([
  [
    'a non-retryable failure',
    { applicationFailureInfo: { nonRetryable: true } },
    {},
    'NonRetryableFailure',
  ],
  [
    'a type that the policy names',
    { applicationFailureInfo: { type: 'Fatal' } },
    { nonRetryableErrorTypes: ['Fatal'] },
    'NonRetryableFailure',
  ],
  ['the only attempt', {}, { maximumAttempts: 1 }, 'MaximumAttemptsReached'],
] as const)('%s is final', async (name, failure, retryPolicy, retryState) => {
  const c = await scheduled(`final: ${name}`, { retryPolicy });
  await fail(c, await c.activity(), failure);
  const { kinds, last } = await closing(c, `final: ${name}`);
  expect(kinds).toBe('ActivityTaskScheduled ActivityTaskStarted ActivityTaskFailed TaskScheduled');
  expect(last).toMatchObject({ retryState: RetryState[retryState] });
  expect((await c.pollActivity()).taskToken).toBeUndefined();
});

test('the worker may say when the next attempt comes', async () => {
  const c = await scheduled('own-delay', { retryPolicy: { initialInterval: seconds(60) } });
  const nextRetryDelay = seconds(0.2);
  await fail(c, await c.activity(), { applicationFailureInfo: { nextRetryDelay } });
  expect((await c.activity()).attempt).toBe(2);
});

test('a token of an earlier attempt is refused, and its late result is not taken', async () => {
  const c = await scheduled('late');
  const first = await c.activity();
  await fail(c, first);
  const second = await c.activity();
  expect(await refusal(done(c, first))).toMatchObject({ code: 'not-found' });
  expect(await refusal(fail(c, first))).toMatchObject({ code: 'not-found' });
  await done(c, second, 'second');
  expect(await refusal(done(c, second))).toMatchObject({ code: 'not-found' });
  const events = await c.events('late');
  expect(events[6]?.attributes).toMatchObject({ result: text('second') });
});

test('an activity is completed by workflow and activity id, its heartbeat and failure too', async () => {
  const c = await scheduled('by-id');
  const runId = (await c.activity()).workflowExecution?.runId;
  const id = { ...ns, workflowId: 'by-id', activityId: 'a' };
  await c.cell.call('RecordActivityTaskHeartbeatById', { ...id, details: text('beat') });
  expect(await pending(c, 'by-id')).toMatchObject({ heartbeatDetails: text('beat') });
  await c.cell.call('RespondActivityTaskFailedById', { ...id, runId, failure: { message: 'no' } });
  await c.activity();
  const unknown = { ...id, activityId: 'z' };
  const refused = await refusal(c.cell.call('RespondActivityTaskCompletedById', unknown));
  expect(refused).toMatchObject({ code: 'not-found' });
  await c.cell.call('RespondActivityTaskCompletedById', { ...id, result: text('by id') });
  expect((await c.events('by-id'))[6]?.attributes).toMatchObject({ result: text('by id') });
});

test('tokens of activities of a closed run are not found, and say so to the heartbeat', async () => {
  const c = await scheduled('closed');
  const held = await c.activity();
  await c.terminate('closed');
  const beat = c.cell.call('RecordActivityTaskHeartbeat', { ...ns, taskToken: held.taskToken });
  expect(await refusal(beat)).toMatchObject({ code: 'not-found' });
  expect(await refusal(done(c, held))).toMatchObject({ code: 'not-found' });
  expect((await c.kinds('closed')).endsWith('Terminated')).toBe(true);
});

test('activities asked for eagerly come with the answer, started, and no poller gets them too', async () => {
  const c = client();
  await c.start('eager');
  const eager = schedule({ activityId: 'e', requestEagerExecution: true });
  const answer = await c.complete(await c.task(), [eager, schedule({ activityId: 'l' })]);
  expect(answer.activityTasks?.map(({ activityId }) => activityId)).toEqual(['e']);
  expect((await c.activity()).activityId).toBe('l');
  expect((await c.pollActivity()).taskToken).toBeUndefined();
  await done(c, answer.activityTasks?.[0] ?? {});
  expect(await c.kinds('eager')).toContain('ActivityTaskStarted ActivityTaskCompleted');
});

test('a result that came while the run could not see it is there at the next task', async () => {
  const c = await scheduled('result');
  await done(c, await c.activity(), 'seen');
  const task = await c.task();
  expect(eventsOf(task)[6]?.attributes).toMatchObject({ result: text('seen') });
  await c.complete(task, [closes]);
});
