import { describe, expect, test } from 'vitest';
import { Script } from './testing/script.ts';
import { testTable } from './testing/table.ts';
import { say } from './testing/worker.ts';

describe('a termination', () => {
  testTable(`
    start, terminate                             | Started TaskScheduled Terminated                      | needs no worker
    start delay=9, terminate                     | Started Terminated                                    | comes before the first task, too
    start, poll, terminate                       | Started TaskScheduled TaskStarted TaskFailed Terminated | ends the task in a worker's hand first
    start, poll, failed, terminate               | … TaskFailed Terminated                               | ends a task that keeps failing
    start, terminate, terminate                  | = refused: not-found                                  | is of an open run
  `);

  test('leaves nothing pending', () => {
    const { lab } = new Script().run('start run=60, poll, done act a+timer t 5, take a, terminate');
    expect(lab.work).toEqual([]);
    expect(lab.state).toMatchObject({ status: 5, closedAt: 1_000_000 });
  });

  test('works on a history that is full, which takes no signal and no command any more', () => {
    const script = new Script().run('start');
    script.lab.limits = { ...script.lab.limits, maximumEvents: 3 };
    script.run('poll, done timer t 5');
    expect(script.last).toMatch(/^rejected: the history has 4 events/u);
    script.run('signal go');
    expect(script.last).toBe('refused: resource-exhausted');
    script.run('terminate');
    expect(say(script.lab)).toMatch(/Terminated$/u);
  });
});

describe('a cancel request', () => {
  testTable(`
    start, cancel                                | Started TaskScheduled CancelRequested                 | may come before the first task
    start, cancel c, cancel c                    | Started TaskScheduled CancelRequested                 | repeated changes nothing
    start, cancel c, cancel d                    | Started TaskScheduled CancelRequested                 | asked twice changes nothing
    start, cancel, cancel                        | = done                                                | asked twice succeeds
    start, terminate, cancel                     | = refused: not-found                                  | is of an open run
    start, cancel c, terminate, cancel c         | = done                                                | that was taken is known after the close
    start, cancel, poll, done canceling          | … TaskCompleted Canceled                              | is answered by the worker
    start, poll, done act a, cancel, poll, done unact a | … ActivityCancelRequested ActivityCanceled TaskScheduled | ends an activity that no worker has
    start, poll, done act a, take a, cancel, poll, done unact a, hb a | … TaskCompleted ActivityCancelRequested | reaches an activity by its heartbeat
    start, poll, done unact 9                    | … TaskFailed                                          | of an activity that never was is the worker's fault
  `);
});

describe('a signal', () => {
  testTable(`
    start, signal a x, signal a x                | Started TaskScheduled Signaled                        | repeated changes nothing
    start, signal a, signal a                    | Started TaskScheduled Signaled Signaled               | without a request id is taken each time
    start, terminate, signal a                   | = refused: not-found                                  | is of an open run
    start, signal a x, terminate, signal a x     | = done                                                | that was taken is known after the close
  `);

  test('is refused beyond the limit of a run, buffered ones counted', () => {
    const script = new Script();
    script.lab.limits = { ...script.lab.limits, maximumSignals: 2 };
    script.run('start, poll, signal a, signal b, signal c');
    expect(script.last).toBe('refused: resource-exhausted');
  });
});

describe('a run timeout', () => {
  testTable(`
    start run=5, wait 5                          | Started TaskScheduled TimedOut                        | closes the run
    start run=5, wait 2, poll, signal go, wait 3 | … TaskStarted TaskFailed Signaled TimedOut            | writes what waited
    start execution=5, wait 5                    | Started TaskScheduled TimedOut                        | comes with an execution timeout, too
    start run=5, wait 4                          | Started TaskScheduled                                 | does not come early
  `);
});

test('clocks of another attempt, another use, or a closed run are obsolete', () => {
  const { lab } = new Script().run('start run=60, poll, done timer t 5');
  const before = lab.state;
  for (const key of ['t:9:t', 'at:5:1:StartToClose', 'ws:2:1:1000000', 'wy:2', 'b', 'r', 'x', '']) {
    expect(lab.ask({ kind: 'timer-due', key })).toMatchObject({ reply: { kind: 'obsolete' } });
  }
  expect(lab.state).toBe(before);
  lab.ask({ kind: 'terminate', reason: '', identity: '' });
  lab.now += 60_000;
  expect(lab.ask({ kind: 'timer-due', key: 'r' })).toMatchObject({ reply: { kind: 'obsolete' } });
});

test.each([
  ['the start delay', 'start delay=10', 'b'],
  ['the run timeout', 'start run=10', 'r'],
  ['the timeout of a workflow task', 'start, poll', 'ws:2:1:1000000'],
  ['the wait for a sticky worker', 'start, poll, sticky timer t 60, signal go', 'wy:7'],
  ['a timer', 'start, poll, done timer t 60', 't:5:t'],
])('an alarm for %s that comes early is obsolete, and armed again', (_what, steps, key) => {
  const { lab } = new Script().run(steps);
  const due = lab.work.find((work) => work.key === key);
  expect(due).toMatchObject({ kind: 'timer' });
  lab.now = (due?.kind === 'timer' ? due.dueAt : 0) - 1;
  expect(lab.ask({ kind: 'timer-due', key })).toMatchObject({ reply: { kind: 'obsolete' } });
  expect(lab.work).toContainEqual(due);
  lab.now += 1;
  expect(lab.ask({ kind: 'timer-due', key })).toMatchObject({ kind: 'commit' });
});
