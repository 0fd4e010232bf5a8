import { describe, expect, test } from 'vitest';
import { activity } from '../testing/inputs.ts';
import { Script } from '../testing/script.ts';
import { testTable } from '../testing/table.ts';
import { completeTask, say, sayEvents } from '../testing/worker.ts';

const FIRST = 'start, poll, done timer t 60';

describe('a workflow task is scheduled', () => {
  testTable(`
    start                                 | Started TaskScheduled                                  | by a start
    start signal=go                       | Started Signaled TaskScheduled                         | by signal-with-start, after the signal
    ${FIRST}, signal go                   | … TimerStarted Signaled TaskScheduled                  | by a signal
    ${FIRST}, cancel                      | … TimerStarted CancelRequested TaskScheduled           | by a cancel request
    ${FIRST}, wait 60                     | … TimerStarted TimerFired TaskScheduled                | by a timer that fires
    start, poll, done act a, take a, finish a | … ActivityScheduled ActivityStarted ActivityCompleted TaskScheduled | by an activity that ends
    ${FIRST}, signal a, signal b          | … Signaled TaskScheduled Signaled                      | once, however much comes
    start, poll, done                     | Started TaskScheduled TaskStarted TaskCompleted        | not by a task that did nothing
    start delay=10, signal go             | Started Signaled                                       | not by a signal while the first task waits
    start delay=10, cancel                | Started CancelRequested                                | not by a cancel request while the first task waits
    start delay=10, signal go, wait 10    | Started Signaled TaskScheduled                         | by the end of the start delay
    start, poll, beat                     | … TaskStarted TaskCompleted TaskScheduled              | at once by a heartbeat of local activities
  `);
});

describe('the start of a workflow task', () => {
  testTable(`
    start, poll                           | Started TaskScheduled                                  | is memory only
    start, poll, signal go                | Started TaskScheduled TaskStarted                      | is carried by the first record that touches the run
    start, poll, crash, poll2, done2      | Started TaskScheduled TaskStarted TaskCompleted        | may be made again by another worker when its owner died
    start, poll, crash, done              | Started TaskScheduled TaskStarted TaskCompleted        | holds for its worker, though nobody else knows of it any more
    start, poll, crash, poll2, done       | = refused: not-found                                   | is gone once another worker has the task
    start, poll, crash, signal go, done   | = refused: not-found                                   | is gone once the history went on without it
    start, poll, done, done               | = refused: not-found                                   | ends with its completion
    start, poll, wait 10, done            | = refused: not-found                                   | ends with its timeout
    start, poll, terminate, done          | = refused: not-found                                   | ends with the run
  `);

  test('is the same when the same poll asks again, and is not given to another one', () => {
    const { lab } = new Script().run('start');
    const ask = (requestId: string) =>
      lab.ask({
        kind: 'start-workflow-task',
        scheduledEventId: 2,
        attempt: 1,
        requestId,
        identity: 'w',
      });
    const first = ask('p1');
    lab.now += 1;
    expect(ask('p1')).toMatchObject({ kind: 'answer', reply: { start: { startedAt: 1_000_000 } } });
    expect(ask('p2')).toMatchObject({ kind: 'answer', reply: { kind: 'obsolete' } });
    expect(first.kind).toBe('start');
    lab.ask({ kind: 'signal', requestId: '', name: 'go', identity: 'c' });
    const durable = ask('p1');
    expect(durable).toMatchObject({
      kind: 'answer',
      reply: { lastStoredEventId: 3, virtualEvents: [] },
    });
  });

  test('shows the worker a started event that history gets later, word for word', () => {
    const script = new Script().run('start, poll');
    const seen = script.lab.seen(script.hand());
    script.lab.now += 3_000;
    script.run('done');
    expect(script.lab.events.slice(0, 3)).toEqual(seen);
  });
});

describe('events that come while a worker has the task', () => {
  testTable(`
    start, poll, signal go, done timer t 5  | … TaskStarted TaskCompleted TimerStarted Signaled TaskScheduled | follow the commands and get a task of their own
    start, poll, signal a, signal b, failed | … TaskStarted TaskFailed Signaled Signaled TaskScheduled        | follow a failure
    start, poll, signal go, wait 10         | … TaskStarted TaskTimedOut Signaled TaskScheduled               | follow a timeout
    start, poll, done act a+act b, take a, signal go, poll, finish a, signal z, done | … TaskCompleted ActivityStarted ActivityCompleted Signaled TaskScheduled | keep their order, a completion behind its start
    start, poll, signal go, done complete   | … TaskStarted TaskFailed Signaled TaskScheduled                 | stop the run from closing over them
    start, poll, signal go, done complete, poll, done complete | … Signaled TaskScheduled TaskStarted TaskCompleted Completed | are seen by the next task, which may close the run
    start, poll, done timer t 5, signal go, poll, wait 5, done untimer t | … TaskCompleted TimerCanceled            | lose a timer that the task cancels though it fired
    start, poll, done timer t 5, signal go, poll, wait 5, done untimer t+timer t 9 | … TaskCompleted TimerCanceled TimerStarted | and its id is free again
    start, poll, done timer t 5, signal go, poll, wait 5, done timer t 9 | … TaskCompleted TimerStarted TimerFired TaskScheduled | free the id of a timer that fired
    start, poll, cancel, cancel, done       | … TaskCompleted CancelRequested TaskScheduled                   | hold one cancel request
    start, poll, signal go, terminate       | … TaskStarted TaskFailed Signaled Terminated                    | are written before a termination
  `);

  test('are at most as many as the limit: then the task fails and its worker comes too late', () => {
    const script = new Script();
    script.lab.limits = { ...script.lab.limits, maximumBufferedEvents: 2 };
    script.run('start, poll, signal a, signal b');
    expect(script.lab.state.buffered).toHaveLength(2);
    script.run('signal c');
    expect(say(script.lab)).toBe(
      'Started TaskScheduled TaskStarted TaskFailed Signaled Signaled Signaled TaskScheduled',
    );
    script.run('done');
    expect(script.last).toBe('refused: not-found');
  });
});

describe('a workflow task that fails', () => {
  testTable(`
    start, poll, failed                       | Started TaskScheduled TaskStarted TaskFailed                 | writes its first failure
    start, poll, failed, poll, failed         | Started TaskScheduled TaskStarted TaskFailed                 | and no other one
    start, poll, wait 10, poll, wait 10       | Started TaskScheduled TaskStarted TaskTimedOut               | or its first timeout
    start, poll, failed, poll, done timer t 5 | … TaskFailed TaskScheduled TaskStarted TaskCompleted TimerStarted | has its attempts written once one succeeds
    start, poll, failed, signal go            | … TaskFailed Signaled TaskScheduled                          | becomes a real one by a new event
    start, poll, failed, poll, signal go      | … TaskStarted TaskFailed                                     | keeps a new event waiting while an attempt runs
    start, poll, failed, poll, signal go, done | … TaskFailed TaskScheduled TaskStarted TaskCompleted Signaled TaskScheduled | which follows the attempt that succeeded
    start, poll, failed, poll, signal go, failed | … TaskFailed Signaled TaskScheduled                       | or the one that failed
    start, poll, failed, poll, crash, done    | … TaskFailed TaskScheduled TaskStarted TaskCompleted         | is completed by the worker that saw it, though nobody knows of the attempt
    start, poll, failed, poll, crash, signal x, done | = refused: not-found                                  | but not once something came that it has not seen
    start, poll, failed, done                 | = refused: not-found                                         | cannot be completed by an attempt that is over
    start, poll, failed, poll, terminate      | … TaskFailed Terminated                                      | leaves no attempt behind when the run ends
  `);

  test('shows a transient attempt as events that history does not hold', () => {
    const script = new Script().run('start, poll, failed, poll');
    const seen = script.lab.seen(script.hand());
    expect(sayEvents(seen)).toBe(
      'Started TaskScheduled TaskStarted TaskFailed TaskScheduled TaskStarted',
    );
    expect(seen[4]).toMatchObject({ eventId: 5, attributes: { attempt: 2 } });
    script.run('done');
    expect(script.lab.events.slice(0, 6)).toEqual(seen);
  });

  test('is tried again at once, then after 1, 2, 4 seconds, and at most after 10 minutes', () => {
    const script = new Script().run('start');
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 16; attempt += 1) {
      script.run('poll, failed');
      const offer = script.lab.work.find((work) => work.kind === 'workflow-task');
      const wait = Math.max((offer?.notBefore ?? 0) - script.lab.now, 0) / 1_000;
      waits.push(wait);
      script.lab.now += wait * 1_000;
    }
    expect(waits.slice(0, 5)).toEqual([0, 1, 2, 4, 8]);
    expect(waits.at(-1)).toBe(600);
  });
});

describe('a bad command', () => {
  testTable(`
    start, poll, done timer t 5+untimer u | … TaskStarted TaskFailed                        | fails the task, and nothing of it applies
    start, poll, done act a+act a         | … TaskStarted TaskFailed                        | such as a doubled activity id
    start, poll, done untimer u           | = rejected: timer "u" is not pending: it was never started, or its end is in the history already | is told to the worker
    start, poll, done child               | = rejected: the command StartChildWorkflowExecution is not supported yet by this server | says when it is not supported
    start, poll, done complete+timer t 5  | = rejected: StartTimer follows a command that closes the run: the closing command must be the last | is one behind the end of the run
    start, poll, done mark m+memo+attr    | … TaskCompleted MarkerRecorded PropertiesModified UpsertWorkflowSearchAttributes | is not one of these
  `);
});

describe('a sticky queue', () => {
  const sticky = 'start, poll, sticky timer t 60, signal go';
  testTable(`
    ${sticky}, wait 5                | … Signaled TaskScheduled TaskTimedOut TaskScheduled | that nobody polls times out, and the task goes to the normal queue
    ${sticky}, lost                  | … Signaled TaskScheduled                            | whose worker is gone is left without an event
    ${sticky}, poll, wait 5, done    | … TaskScheduled TaskStarted TaskCompleted           | has no timeout once the task is taken
  `);

  test('gets the next task, until its worker is gone or fails', () => {
    const script = new Script().run(sticky);
    const offer = () => script.lab.work.find((work) => work.kind === 'workflow-task');
    expect(offer()).toMatchObject({ key: 'w:7:1:s', stickyQueue: 'sticky-1', taskQueue: 'orders' });
    script.run('lost');
    expect(offer()).toMatchObject({ key: 'w:7:1' });
    expect(offer()).not.toHaveProperty('stickyQueue');
    const failing = new Script().run(`${sticky}, poll, failed`);
    expect(failing.lab.state.sticky).toBeUndefined();
    const buffering = new Script().run(`${sticky}, poll, signal more, failed`);
    expect(buffering.lab.work.find((work) => work.kind === 'workflow-task')).not.toHaveProperty(
      'stickyQueue',
    );
  });
});

describe('heartbeats of local activities', () => {
  test('keep a task alive for half an hour, then it times out', () => {
    const script = new Script().run('start');
    for (let beats = 0; beats < 200; beats += 1) script.run('poll, wait 9, beat');
    script.lab.now += 9_000;
    script.run('poll, beat');
    expect(script.last).toMatch(/^rejected: the workflow task was kept alive by heartbeats/u);
    expect(say(script.lab)).toMatch(/TaskScheduled TaskStarted TaskTimedOut$/u);
    script.run('poll, beat');
    expect(script.last).toBe('workflow-task-completed');
  });
});

test('a completion hands the next task to the caller who asks for it', () => {
  const script = new Script().run('start, poll, signal go');
  const { lab } = script;
  const { identity: _, ...claim } = script.hand().start;
  const decision = lab.ask({
    kind: 'complete-workflow-task',
    claim,
    identity: 'w',
    commands: [],
    forceNewTask: false,
    binaryChecksum: '',
    nextTask: { requestId: 'next', identity: 'w' },
  });
  expect(decision).toMatchObject({
    kind: 'commit',
    start: { requestId: 'next', startedEventId: 7 },
    reply: { newTask: true, task: { lastStoredEventId: 6, previousStartedEventId: 3 } },
  });
  expect(lab.work.some((work) => work.kind === 'workflow-task')).toBe(false);
});

test('a completion starts activities for the polls that came with it, in one transition', () => {
  const script = new Script().run('start, poll');
  const commands = [activity('a'), activity('b'), activity('c')];
  const decision = completeTask(script.lab, script.hand(), commands, {
    activityPolls: new Map([
      [0, { requestId: 'p', identity: 'w' }],
      [2, { requestId: 'q', identity: 'v' }],
    ]),
  });
  expect(decision).toMatchObject({
    steps: { length: 1 },
    reply: {
      activities: [{ activity: { scheduledEventId: 5 } }, { activity: { scheduledEventId: 7 } }],
    },
  });
  const { lab } = script;
  expect(lab.state.activities.get(5)?.started).toMatchObject({ requestId: 'p', identity: 'w' });
  expect(lab.state.activities.get(7)?.started).toMatchObject({ requestId: 'q', identity: 'v' });
  expect(lab.work.filter((work) => work.kind === 'activity-task')).toMatchObject([
    { key: 'a:6:1' },
  ]);
});
