/** Starts, their policies and request ids, signals, cancel requests and ends of runs (BEHAVIOURS 10, 11, 16; D15). */
import { expect, test } from 'vitest';
import {
  RetryState,
  WorkflowExecutionStatus as Status,
  WorkflowIdConflictPolicy as Conflict,
  WorkflowIdReusePolicy as Reuse,
} from '../../wire/enums.ts';
import {
  closes,
  command,
  eventsOf,
  kindsOf,
  refusal,
  seconds,
  text,
  until,
} from './testing/client.ts';
import { useCell } from './testing/use-cell.ts';

const client = useCell();
const fails = command('FailWorkflowExecution', { failure: { message: 'no' } });
const cancels = command('CancelWorkflowExecution', {});

test('a start is repeated by its request id: the same run, also after close, and nothing new', async () => {
  const c = client();
  const runId = await c.start('dedup', { requestId: 'r1' });
  expect(await c.start('dedup', { requestId: 'r1' })).toBe(runId);
  await c.work(closes);
  expect(await c.start('dedup', { requestId: 'r1' })).toBe(runId);
  const second = await c.start('dedup', { requestId: 'r2' });
  expect(second).not.toBe(runId);
  expect(await c.start('dedup', { requestId: 'r1' }), 'also after a newer run').toBe(runId);
  expect((await c.describe('dedup')).workflowExecutionInfo?.execution?.runId).toBe(second);
});

test('the answer to a repeated start says that it started the run, as the lost one did', async () => {
  const c = client();
  const first = await c.startFully('lost-answer', { requestId: 'r1' });
  const repeated = await c.startFully('lost-answer', { requestId: 'r1' });
  expect(first.started).toBe(true);
  expect(repeated).toMatchObject({ runId: first.runId, started: true, status: Status.Running });
  const other = { requestId: 'r2', workflowIdConflictPolicy: Conflict.UseExisting };
  expect((await c.startFully('lost-answer', other)).started ?? false).toBe(false);
  expect((await c.startFully('lost-answer', other)).started ?? false).toBe(false);
});

test('signal-with-start signals once per request id, also after close', async () => {
  const c = client();
  const request = {
    namespace: 'default',
    workflowId: 'sws',
    workflowType: { name: 'raw' },
    taskQueue: { name: c.queue },
    signalName: 'poke',
    requestId: 'one',
  };
  const first = await c.cell.call('SignalWithStartWorkflowExecution', request);
  const again = await c.cell.call('SignalWithStartWorkflowExecution', request);
  expect(again.runId).toBe(first.runId);
  const other = await c.cell.call('SignalWithStartWorkflowExecution', {
    ...request,
    requestId: 'two',
  });
  expect(other.runId).toBe(first.runId);
  await c.cell.call('SignalWithStartWorkflowExecution', { ...request, requestId: 'two' });
  expect(await c.kinds('sws')).toBe('Started Signaled TaskScheduled Signaled');
  await c.work(closes);
  const late = await c.cell.call('SignalWithStartWorkflowExecution', request);
  expect(late.runId, 'after close the id still means the first run').toBe(first.runId);
});

test('a signal is taken once per request id, and a known one succeeds after close', async () => {
  const c = client();
  await c.start('signals');
  await c.signal('signals', 'a', { requestId: 's1' });
  await c.signal('signals', 'a', { requestId: 's1' });
  await c.signal('signals', 'b', { requestId: '' });
  await c.signal('signals', 'b', { requestId: '' });
  expect(await c.kinds('signals')).toBe('Started TaskScheduled Signaled Signaled Signaled');
  await c.work(closes);
  await c.signal('signals', 'a', { requestId: 's1' });
  expect(await refusal(c.signal('signals', 'a'))).toMatchObject({ code: 'not-found' });
});

test.each([
  // reuse policy, end of the run before, allowed
  ['AllowDuplicate', 'completed', true],
  ['AllowDuplicate', 'failed', true],
  ['AllowDuplicateFailedOnly', 'completed', false],
  ['AllowDuplicateFailedOnly', 'failed', true],
  ['AllowDuplicateFailedOnly', 'terminated', true],
  ['RejectDuplicate', 'completed', false],
  ['RejectDuplicate', 'failed', false],
] as const)('reuse policy %s after a %s run: %s', async (policy, end, allowed) => {
  const c = client();
  const id = `reuse ${policy} ${end}`;
  const before = await c.start(id);
  if (end === 'terminated') await c.terminate(id);
  else await c.work(end === 'failed' ? fails : closes);
  const again = c.start(id, { workflowIdReusePolicy: Reuse[policy] });
  if (allowed) expect(await again).not.toBe(before);
  else {
    const refused = await refusal(again);
    expect(refused.code).toBe('already-exists');
    expect(refused.details).toEqual(['WorkflowExecutionAlreadyStartedFailure']);
  }
});

test('conflict policies beside an open run: fail, use it, or terminate it first', async () => {
  const c = client();
  const first = await c.start('conflict');
  const refused = await refusal(c.start('conflict', { workflowIdConflictPolicy: Conflict.Fail }));
  expect(refused).toMatchObject({ code: 'already-exists' });
  const existing = { workflowIdConflictPolicy: Conflict.UseExisting };
  expect(await c.start('conflict', existing)).toBe(first);
  const replacing = { workflowIdConflictPolicy: Conflict.TerminateExisting };
  const second = await c.start('conflict', replacing);
  expect(second).not.toBe(first);
  expect(await c.kinds('conflict', first)).toBe('Started TaskScheduled Terminated');
  const old = { workflowIdReusePolicy: Reuse.TerminateIfRunning };
  const third = await c.start('conflict', old);
  expect(await c.kinds('conflict', second)).toBe('Started TaskScheduled Terminated');
  expect((await c.task()).workflowExecution?.runId, 'tasks of ended runs are gone').toBe(third);
});

test('of many starts at once exactly one starts, and the others learn its run', async () => {
  const c = client();
  const starts = await Promise.allSettled(Array.from({ length: 20 }, () => c.start('race')));
  const started = starts.filter(({ status }) => status === 'fulfilled');
  expect(started).toHaveLength(1);
  const shared = await Promise.all(
    Array.from({ length: 20 }, () =>
      c.start('race-2', { workflowIdConflictPolicy: Conflict.UseExisting }),
    ),
  );
  expect(new Set(shared).size).toBe(1);
});

test('a start delay holds the first task back: signals do not wake it, queries fail clearly', async () => {
  const c = client();
  await c.start('delayed', { workflowStartDelay: seconds(0.8) });
  const startedAt = Date.now();
  await c.signal('delayed', 'early');
  await c.cancel('delayed');
  const refused = await refusal(c.query('delayed', 'q'));
  expect(refused.details).toEqual(['WorkflowNotReadyFailure']);
  const { workflowExecutionInfo: info } = await c.describe('delayed');
  const [start, execution] = [info?.startTime, info?.executionTime].map(
    (time) => (time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6,
  );
  expect((execution ?? 0) - (start ?? 0)).toBe(800);
  const task = await c.task();
  expect(Date.now() - startedAt).toBeGreaterThan(700);
  expect(kindsOf(eventsOf(task))).toBe(
    'Started Signaled CancelRequested TaskScheduled TaskStarted',
  );
});

test('a failed run is retried by its policy, in a new run of the same chain, after its back-off', async () => {
  const c = client();
  const retryPolicy = { initialInterval: seconds(0.05), maximumAttempts: 3 };
  const first = await c.start('retried', { retryPolicy, input: text('in') });
  await c.work(fails);
  const [last] = (await c.events('retried', first)).slice(-1);
  expect(last?.attributes).toMatchObject({ retryState: RetryState.InProgress });
  const second = await c.task();
  expect(second.workflowExecution?.runId).not.toBe(first);
  const [started] = eventsOf(second);
  expect(started?.attributes).toMatchObject({
    attempt: 2,
    continuedExecutionRunId: first,
    firstExecutionRunId: first,
    input: text('in'),
    continuedFailure: { message: 'no' },
  });
  await c.complete(second, [fails]);
  const third = await c.task();
  await c.complete(third, [fails]);
  const [end] = (await c.events('retried')).slice(-1);
  expect(end?.attributes).toMatchObject({ retryState: RetryState.MaximumAttemptsReached });
  expect((await c.pollTask()).taskToken).toBeUndefined();
});

test('describe shows summary and details that a start gave, those of the chain after a retry too', async () => {
  const c = client();
  const userMetadata = {
    summary: text('brief').payloads?.[0],
    details: text('long').payloads?.[0],
  };
  const retryPolicy = { initialInterval: seconds(0.01) };
  const first = await c.start('described', { userMetadata, retryPolicy });
  expect((await c.describe('described')).executionConfig).toMatchObject({ userMetadata });
  await c.work(fails);
  const second = await c.task();
  expect(second.workflowExecution?.runId).not.toBe(first);
  expect((await c.describe('described')).executionConfig).toMatchObject({ userMetadata });
});

test('a non-retryable failure and a type that the policy names end the chain', async () => {
  const c = client();
  const retryPolicy = { initialInterval: seconds(0.05), nonRetryableErrorTypes: ['Fatal'] };
  await c.start('fatal', { retryPolicy });
  await c.work(
    command('FailWorkflowExecution', {
      failure: { message: 'no', applicationFailureInfo: { type: 'Fatal' } },
    }),
  );
  const [end] = (await c.events('fatal')).slice(-1);
  expect(end?.attributes).toMatchObject({ retryState: RetryState.NonRetryableFailure });
  expect((await c.describe('fatal')).workflowExecutionInfo?.status).toBe(Status.Failed);
});

test('cancel before the first task is seen with the start; a second one changes nothing; a closed run is not found', async () => {
  const c = client();
  await c.start('cancel');
  await c.cancel('cancel', { reason: 'enough' });
  await c.cancel('cancel');
  const task = await c.task();
  expect(kindsOf(eventsOf(task))).toBe('Started TaskScheduled CancelRequested TaskStarted');
  await c.cancel('cancel');
  await c.complete(task, [cancels]);
  expect(await c.kinds('cancel')).toBe(
    'Started TaskScheduled CancelRequested TaskStarted TaskCompleted Canceled',
  );
  expect(await refusal(c.cancel('cancel'))).toMatchObject({ code: 'not-found' });
  expect(await refusal(c.cancel('nobody'))).toMatchObject({ code: 'not-found' });
});

test('the run timeout closes a run, whoever has its task', async () => {
  const c = client();
  await c.start('run-timeout', { workflowRunTimeout: seconds(0.3) });
  const task = await c.task();
  await until(async () => (await c.kinds('run-timeout')).endsWith('TimedOut'));
  expect(await refusal(c.complete(task, [closes]))).toMatchObject({ code: 'not-found' });
  expect((await c.describe('run-timeout')).workflowExecutionInfo?.status).toBe(Status.TimedOut);
});

test('the execution timeout bounds the chain of retries', async () => {
  const c = client();
  const retryPolicy = { initialInterval: seconds(5) };
  await c.start('chain', { retryPolicy, workflowExecutionTimeout: seconds(1) });
  await c.work(fails);
  const [end] = (await c.events('chain')).slice(-1);
  expect(end?.attributes).toMatchObject({ retryState: RetryState.Timeout });
});

test('terminating names reason and details, ends the task in hand, and a run ends once', async () => {
  const c = client();
  await c.start('terminated');
  const task = await c.task();
  await c.signal('terminated', 'waits');
  await c.terminate('terminated', { reason: 'why', details: text('d') });
  const events = await c.events('terminated');
  expect(kindsOf(events)).toBe('Started TaskScheduled TaskStarted TaskFailed Signaled Terminated');
  expect(events.at(-1)?.attributes).toMatchObject({ reason: 'why', details: text('d') });
  expect(await refusal(c.terminate('terminated'))).toMatchObject({ code: 'not-found' });
  expect(await refusal(c.complete(task))).toMatchObject({ code: 'not-found' });
});

test('cancel and terminate touch only the chain that the caller names', async () => {
  const c = client();
  const first = await c.start('chained');
  await c.work(closes);
  await c.start('chained');
  const pinned = { firstExecutionRunId: first };
  expect(await refusal(c.terminate('chained', pinned))).toMatchObject({ code: 'not-found' });
  expect(await refusal(c.cancel('chained', pinned))).toMatchObject({ code: 'not-found' });
  expect(await c.kinds('chained')).toBe('Started TaskScheduled');
});

test('an eager start gives the first task with the answer, and matching has none beside it', async () => {
  const c = client();
  const answer = await c.startFully('eager', { requestEagerExecution: true });
  expect(answer.eagerWorkflowTask?.taskToken).toBeDefined();
  expect((await c.pollTask()).taskToken).toBeUndefined();
  await c.complete(answer.eagerWorkflowTask ?? {}, [closes]);
  expect((await c.kinds('eager')).endsWith('Completed')).toBe(true);
});
