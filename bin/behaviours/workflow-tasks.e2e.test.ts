/** Workflow tasks as raw workers meet them (BEHAVIOURS 2 to 9). */
import { expect, test } from 'vitest';
import { WorkflowTaskFailedCause as Cause } from '../../wire/enums.ts';
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
const STICKY = 2;

const activity = (activityId: string) =>
  command('ScheduleActivityTask', {
    activityId,
    activityType: { name: 'act' },
    startToCloseTimeout: seconds(30),
  });

test('events that come while a task is worked on follow its completion, in the order of their coming', async () => {
  const c = client();
  await c.start('buffered');
  await c.work(activity('a'));
  const held = await c.activity();
  await c.signal('buffered', 'first');
  const task = await c.task();
  await c.signal('buffered', 'second');
  await c.cell.call('RespondActivityTaskCompleted', {
    namespace: 'default',
    taskToken: held.taskToken,
  });
  await c.signal('buffered', 'third');
  expect(await c.kinds('buffered'), 'they are not in history yet').toBe(
    'Started TaskScheduled TaskStarted TaskCompleted ActivityTaskScheduled Signaled TaskScheduled TaskStarted',
  );
  await c.complete(task, [
    command('StartTimer', { timerId: 't', startToFireTimeout: seconds(60) }),
  ]);
  const events = await c.events('buffered');
  expect(kindsOf(events.slice(8))).toBe(
    'TaskCompleted TimerStarted Signaled ActivityTaskStarted ActivityTaskCompleted Signaled TaskScheduled',
  );
  const [completed, started] = [events[12], events[11]];
  expect(completed?.attributes).toMatchObject({
    scheduledEventId: 5,
    startedEventId: started?.eventId,
  });
  const next = await c.task();
  expect(eventsOf(next)).toHaveLength(16);
});

test('a run does not complete over a signal that its worker has not seen', async () => {
  const c = client();
  await c.start('unseen');
  const task = await c.task();
  await c.signal('unseen', 'late');
  expect(await refusal(c.complete(task, [closes]))).toMatchObject({
    code: 'invalid-argument',
    message: 'UnhandledCommand',
  });
  const events = await c.events('unseen');
  expect(kindsOf(events)).toBe(
    'Started TaskScheduled TaskStarted TaskFailed Signaled TaskScheduled',
  );
  expect(events[3]?.attributes).toMatchObject({ cause: Cause.UnhandledCommand });
  await c.work(closes);
  expect((await c.kinds('unseen')).split(' ').at(-1)).toBe('Completed');
});

test('more than 100 buffered events fail the task, and its late answer is not found', async () => {
  const c = client();
  await c.start('flooded');
  const task = await c.task();
  for (let n = 0; n < 101; n += 1) await c.signal('flooded', `s${n}`);
  expect(await refusal(c.complete(task))).toMatchObject({ code: 'not-found' });
  const events = await c.events('flooded');
  expect(kindsOf(events.slice(0, 5))).toBe('Started TaskScheduled TaskStarted TaskFailed Signaled');
  expect(events.filter(({ kind }) => kind === 'WorkflowExecutionSignaled')).toHaveLength(101);
});

test('only the first failure of a task is written; later attempts are transient until something new comes', async () => {
  const c = client();
  await c.start('transient');
  const first = await c.task();
  await c.failTask(first);
  const second = await c.task();
  expect(second.attempt).toBe(2);
  expect(kindsOf(eventsOf(second)), 'the worker sees events that history does not hold').toBe(
    'Started TaskScheduled TaskStarted TaskFailed TaskScheduled TaskStarted',
  );
  const ids = eventsOf(second).map(({ eventId }) => eventId);
  expect(ids).toEqual([1, 2, 3, 4, 5, 6]);
  expect(second.startedEventId).toBe(6);
  expect(await c.kinds('transient')).toBe('Started TaskScheduled TaskStarted TaskFailed');
  await c.failTask(second);
  expect(await c.kinds('transient'), 'a second failure leaves no event').toBe(
    'Started TaskScheduled TaskStarted TaskFailed',
  );
  await c.signal('transient', 'news');
  expect(await c.kinds('transient')).toBe(
    'Started TaskScheduled TaskStarted TaskFailed Signaled TaskScheduled',
  );
  const third = await c.task();
  expect(third.attempt).toBe(1);
  await c.complete(third, [closes]);
});

test('a transient attempt that completes becomes what history says', async () => {
  const c = client();
  await c.start('made-real');
  await c.failTask(await c.task());
  const second = await c.task();
  await c.complete(second, [closes]);
  const events = await c.events('made-real');
  expect(kindsOf(events)).toBe(
    'Started TaskScheduled TaskStarted TaskFailed TaskScheduled TaskStarted TaskCompleted Completed',
  );
  expect(events[4]?.attributes).toMatchObject({ attempt: 2 });
  expect(events[6]?.attributes).toMatchObject({ scheduledEventId: 5, startedEventId: 6 });
});

test('signals of a transient attempt in hand are buffered and no event is lost', async () => {
  const c = client();
  await c.start('transient-buffer');
  await c.failTask(await c.task());
  const second = await c.task();
  await c.signal('transient-buffer', 'while');
  await c.failTask(second);
  const third = await c.task();
  expect(third.attempt).toBe(1);
  expect(kindsOf(eventsOf(third))).toBe(
    'Started TaskScheduled TaskStarted TaskFailed Signaled TaskScheduled TaskStarted',
  );
});

test('a worker that says goodbye loses its sticky task at once, without an event', async () => {
  const c = client();
  const stickyAttributes = {
    workerTaskQueue: { name: `${c.queue}-sticky`, kind: STICKY },
    scheduleToStartTimeout: seconds(60),
  };
  await c.start('goodbye');
  const stickyQueue = { taskQueue: { name: `${c.queue}-sticky`, kind: STICKY } };
  await c.pollTask(stickyQueue);
  await c.complete(await c.task(), [], { stickyAttributes });
  await c.signal('goodbye', 'one');
  const sticky = await c.task(stickyQueue);
  expect(kindsOf(eventsOf(sticky)), 'a sticky worker gets what came since').toBe(
    'TaskCompleted Signaled TaskScheduled TaskStarted',
  );
  await c.complete(sticky, [], { stickyAttributes });
  await c.signal('goodbye', 'two');
  await c.cell.call('ShutdownWorker', {
    namespace: 'default',
    stickyTaskQueue: `${c.queue}-sticky`,
    identity: 'worker',
  });
  const normal = await c.task();
  expect(eventsOf(normal)[0]?.eventId).toBe(1);
  expect(await c.kinds('goodbye')).not.toContain('TaskTimedOut');
});

test('a sticky queue that nobody polls is skipped at once', async () => {
  const c = client();
  await c.start('silent');
  await c.complete(await c.task(), [], {
    stickyAttributes: {
      workerTaskQueue: { name: `${c.queue}-never`, kind: STICKY },
      scheduleToStartTimeout: seconds(60),
    },
  });
  await c.signal('silent', 'one');
  const task = await c.task();
  expect(eventsOf(task)[0]?.eventId).toBe(1);
  expect(await c.kinds('silent')).not.toContain('TaskTimedOut');
});

test('a sticky worker that polled lately and does not come loses the task to its timeout, which is written', async () => {
  const c = client();
  const sticky = { name: `${c.queue}-sticky`, kind: STICKY };
  await c.start('slow');
  await c.pollTask({ taskQueue: sticky });
  await c.complete(await c.task(), [], {
    stickyAttributes: { workerTaskQueue: sticky, scheduleToStartTimeout: seconds(0.2) },
  });
  await c.signal('slow', 'one');
  const task = await c.task();
  expect(kindsOf(eventsOf(task))).toBe(
    'Started TaskScheduled TaskStarted TaskCompleted Signaled TaskScheduled TaskTimedOut TaskScheduled TaskStarted',
  );
  expect(eventsOf(task)[6]?.attributes).toMatchObject({ timeoutType: 2 });
});

test.each([
  [
    'an activity without id',
    [command('ScheduleActivityTask', { activityType: { name: 'x' } })],
    'BadScheduleActivityAttributes',
  ],
  [
    'an activity without timeouts',
    [command('ScheduleActivityTask', { activityId: 'x', activityType: { name: 'x' } })],
    'BadScheduleActivityAttributes',
  ],
  ['an activity id twice', [activity('x'), activity('x')], 'ScheduleActivityDuplicateId'],
  [
    'a cancel of an unscheduled activity',
    [command('RequestCancelActivityTask', { scheduledEventId: 77 })],
    'BadRequestCancelActivityAttributes',
  ],
  [
    'a timer without id',
    [command('StartTimer', { startToFireTimeout: seconds(1) })],
    'BadStartTimerAttributes',
  ],
  ['a timer id twice', [timer('t'), timer('t')], 'StartTimerDuplicateId'],
  [
    'a cancel of an unscheduled timer',
    [command('CancelTimer', { timerId: 'none' })],
    'BadCancelTimerAttributes',
  ],
  ['a marker without name', [command('RecordMarker', {})], 'BadRecordMarkerAttributes'],
  [
    'a failure without failure',
    [command('FailWorkflowExecution', {})],
    'BadFailWorkflowExecutionAttributes',
  ],
] as const)(
  '%s fails the task with its cause, and nothing of the task applies',
  async (name, commands, cause) => {
    const c = client();
    const id = `bad ${name}`;
    await c.start(id);
    const task = await c.task();
    const refused = await refusal(c.complete(task, [timer('before'), ...commands]));
    expect(refused.code).toBe('invalid-argument');
    const events = await c.events(id);
    expect(kindsOf(events)).toBe('Started TaskScheduled TaskStarted TaskFailed');
    expect(events[3]?.attributes).toMatchObject({ cause: Cause[cause] });
    expect((await c.task()).attempt, 'one immediate retry').toBe(2);
  },
);

function timer(timerId: string) {
  return command('StartTimer', { timerId, startToFireTimeout: seconds(60) });
}

test('a command after the one that closes fails the task', async () => {
  const c = client();
  await c.start('after-close');
  await refusal(c.complete(await c.task(), [closes, timer('x')]));
  expect(await c.kinds('after-close')).toBe('Started TaskScheduled TaskStarted TaskFailed');
});

test('a heartbeat of local activities completes, schedules and starts the next task at once', async () => {
  const c = client();
  await c.start('local');
  const task = await c.task();
  const marker = command('RecordMarker', { markerName: 'local' });
  const answer = await c.complete(task, [marker], {
    forceCreateNewWorkflowTask: true,
    returnNewWorkflowTask: true,
  });
  const next = answer.workflowTask;
  expect(next?.taskToken).toBeDefined();
  expect(kindsOf(eventsOf(next ?? {}))).toBe(
    'Started TaskScheduled TaskStarted TaskCompleted MarkerRecorded TaskScheduled TaskStarted',
  );
  await c.complete(next ?? {}, [closes]);
});

test('cancelling a timer that fired while the task was worked on takes the fired event back', async () => {
  const c = client();
  await c.start('taken-back');
  const first = await c.task();
  const short = command('StartTimer', { timerId: 't', startToFireTimeout: seconds(0.05) });
  const inHand = { forceCreateNewWorkflowTask: true, returnNewWorkflowTask: true };
  const { workflowTask: task = {} } = await c.complete(first, [short], inHand);
  expect(kindsOf(eventsOf(task))).not.toContain('TimerFired');
  await until(() => buffered(c, 'taken-back'));
  await c.complete(task, [command('CancelTimer', { timerId: 't' }), closes]);
  const kinds = await c.kinds('taken-back');
  expect(kinds).toContain('TimerCanceled Completed');
  expect(kinds).not.toContain('TimerFired');
});

/** A due timer of a run in hand is only seen in what describe says of its transitions. */
async function buffered(c: ReturnType<typeof client>, workflowId: string): Promise<boolean> {
  const { workflowExecutionInfo: info } = await c.describe(workflowId);
  return Number(info?.stateTransitionCount) >= 3;
}

test('an expired attempt, a completed task and a closed run answer not-found, and nothing is applied', async () => {
  const c = client();
  await c.start('stale', { workflowTaskTimeout: seconds(1) });
  const first = await c.task();
  await until(async () => (await c.kinds('stale')).includes('TaskTimedOut'));
  const before = await c.kinds('stale');
  expect(await refusal(c.complete(first, [closes]))).toMatchObject({ code: 'not-found' });
  expect(await refusal(c.failTask(first))).toMatchObject({ code: 'not-found' });
  expect(await c.kinds('stale')).toBe(before);
  const second = await c.task();
  await c.complete(second, [timer('x')]);
  expect(await refusal(c.complete(second, [closes]))).toMatchObject({ code: 'not-found' });
  await c.terminate('stale');
  expect(await refusal(c.complete(second, [closes]))).toMatchObject({ code: 'not-found' });
});

test('a task is completed once by two workers that answer at the same time', async () => {
  const c = client();
  await c.start('twice');
  const task = await c.task();
  const answers = await Promise.allSettled([
    c.complete(task, [timer('x')]),
    c.complete(task, [timer('x')]),
    c.failTask(task),
  ]);
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test('a payload of a marker travels as it is', async () => {
  const c = client();
  await c.start('marker');
  await c.work(command('RecordMarker', { markerName: 'm', details: { data: text('x') } }), closes);
  const events = await c.events('marker');
  expect(events[4]?.attributes).toMatchObject({ markerName: 'm', details: { data: text('x') } });
});
