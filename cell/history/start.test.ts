import { describe, expect, test } from 'vitest';
import { COMPLETE, startInput } from './testing/inputs.ts';
import { Lab } from './testing/lab.ts';
import { Script } from './testing/script.ts';
import { testTable } from './testing/table.ts';
import { completeTask, pollTask, say } from './testing/worker.ts';

// Policies by number, as the contract has them. reuse: 2 failed only, 3 reject, 4 terminate if running.
// conflict: 1 fail, 2 use existing, 3 terminate existing.
describe('a start', () => {
  testTable(`
    start                                             | = fresh run-1               | begins a run
    start, start                                      | = fresh run-1               | repeated by request id is answered as it was
    start, poll, done complete, start                 | = fresh run-1               | repeated after close too
    start, start id=b                                 | = refused: already-exists   | beside an open run fails
    start, start id=b conflict=2                      | = known run-1               | beside an open run may use that
    start, start id=b conflict=2, terminate, start id=b | = known run-1             | that used an open run is known after that has closed
    start, start id=b conflict=3                      | = fresh run-2               | may end the open run
    start, start id=b reuse=4                         | = fresh run-2               | may end the open run by the older policy
    start, poll, done complete, start id=b            | = fresh run-2               | may use the id of a closed run
    start, poll, done complete, start id=b reuse=2    | = refused: already-exists   | for failed runs only is refused after a completed one
    start, terminate, start id=b reuse=2              | = fresh run-2               | for failed runs only is granted after a terminated one
    start, terminate, start id=b reuse=3              | = refused: already-exists   | that rejects duplicates is refused after any run
    start, terminate, start id=b reuse=4              | = fresh run-2               | that would terminate finds nothing to terminate
  `);

  test('that is refused says which run and which request were there first', () => {
    const decision = new Script().run('start').lab.begin(startInput({ requestId: 'b' }));
    expect(decision).toMatchObject({
      kind: 'refuse',
      error: {
        detail: {
          type: 'WorkflowExecutionAlreadyStartedFailure',
          value: { startRequestId: 'start-1', runId: 'run-1' },
        },
      },
    });
  });

  test('that ends the open run leaves that terminated, and one run open', () => {
    const { lab } = new Script().run('start, poll, start id=b conflict=3');
    expect(say(lab, 'run-1')).toBe('Started TaskScheduled TaskStarted TaskFailed Terminated');
    expect(say(lab, 'run-2')).toBe('Started TaskScheduled');
    expect(lab.current).toMatchObject({ runId: 'run-2', status: 1, startRequestId: 'b' });
  });

  test('that is eager brings its first task along', () => {
    const lab = new Lab();
    const eagerTask = { requestId: 'e', identity: 'client' };
    expect(lab.begin(startInput({ eagerTask }))).toMatchObject({
      start: { startedEventId: 3, requestId: 'e' },
      reply: { kind: 'started', task: { lastStoredEventId: 2 } },
    });
    const delayed = new Lab();
    const decision = delayed.begin(startInput({ eagerTask, startDelayMs: 1 }));
    expect(decision).not.toHaveProperty('start');
  });

  test('holds every timeout, and no run or task outlasts its chain', () => {
    const attributes = (changed: object) => {
      const lab = new Lab();
      lab.begin(startInput(changed));
      return lab.events[0]?.attributes;
    };
    expect(attributes({})).toMatchObject({
      workflowTaskTimeout: { seconds: 10 },
      workflowRunTimeout: { seconds: 0 },
      attempt: 1,
      originalExecutionRunId: 'run-1',
      firstExecutionRunId: 'run-1',
    });
    expect(attributes({ executionTimeoutMs: 5_000, runTimeoutMs: 9_000 })).toMatchObject({
      workflowExecutionTimeout: { seconds: 5 },
      workflowRunTimeout: { seconds: 5 },
      workflowTaskTimeout: { seconds: 5 },
      workflowExecutionExpirationTime: { seconds: 1_005 },
    });
    expect(attributes({ taskTimeoutMs: 600_000 })).toMatchObject({
      workflowTaskTimeout: { seconds: 120 },
    });
  });
});

describe('signal-with-start', () => {
  testTable(`
    start signal=go                                   | Started Signaled TaskScheduled          | starts and signals
    start, start id=b signal=go                       | Started TaskScheduled Signaled          | signals the open run
    start signal=go, start signal=go                  | Started Signaled TaskScheduled          | repeated signals once
    start, start id=b signal=go, start id=b signal=go | Started TaskScheduled Signaled          | repeated on an open run signals once
    start, start id=b signal=go, terminate, start id=b signal=go | Started TaskScheduled Signaled Terminated | repeated after close neither starts nor signals
    start signal=go delay=5, wait 5                   | Started Signaled TaskScheduled          | with a delay does not wake early
    start, terminate, start id=b signal=go            | Started Signaled TaskScheduled          | after a close starts anew
    start, start id=b signal=go conflict=3            | Started Signaled TaskScheduled          | may end the open run first
  `);
});

describe('a start delay', () => {
  test('moves the execution time and every timeout', () => {
    const { lab } = new Script().run('start delay=10 run=5');
    expect(lab.state.start).toMatchObject({ startedAt: 1_000_000, executionAt: 1_010_000 });
    expect(lab.work).toEqual([
      { kind: 'timer', key: 'b', dueAt: 1_010_000 },
      { kind: 'timer', key: 'r', dueAt: 1_015_000 },
    ]);
  });
});

describe('a workflow with a retry policy', () => {
  testTable(`
    start retry=3, poll, done fail Oops         | Started                                                     | that fails is followed by a run that waits
    start retry=3, poll, done fail Oops, wait 1 | Started TaskScheduled                                       | which begins after the back-off
    start retry=1, poll, done fail Oops         | Started TaskScheduled TaskStarted TaskCompleted Failed      | is not retried beyond its attempts
    start retry=3, poll, done fail Fatal        | Started TaskScheduled TaskStarted TaskCompleted Failed      | is not retried after a failure of a type named final
    start, poll, done fail Oops                 | Started TaskScheduled TaskStarted TaskCompleted Failed      | is the only one to be retried
    start retry=3 run=5, wait 5                 | Started                                                     | is retried after the run's timeout
    start retry=3 execution=5, wait 5           | Started TaskScheduled TimedOut                              | is not retried after the execution's timeout
    start retry=9 execution=5, poll, done fail Oops, wait 1, poll, done fail Oops, wait 2, poll, done fail Oops | Started TaskScheduled TaskStarted TaskCompleted Failed | is not retried when the back-off ends after the execution's timeout
    start retry=3, poll, done fail Oops, signal go | Started Signaled                                         | takes signals while it waits, and goes on waiting
    start retry=3, poll, done fail Oops, start     | = fresh run-1                                            | keeps the request id that started the chain
  `);

  test('links its runs', () => {
    const { lab } = new Script().run('start retry=3 execution=60, poll, done fail Oops');
    const [failed] = lab.eventsOf('run-1').slice(-1);
    expect(failed?.attributes).toMatchObject({ newExecutionRunId: 'run-2', retryState: 1 });
    expect(lab.eventsOf('run-2')[0]?.attributes).toMatchObject({
      attempt: 2,
      continuedExecutionRunId: 'run-1',
      firstExecutionRunId: 'run-1',
      originalExecutionRunId: 'run-2',
      initiator: 2,
      continuedFailure: { message: 'Oops' },
      firstWorkflowTaskBackoff: { seconds: 1 },
      workflowExecutionExpirationTime: { seconds: 1_060 },
    });
    expect(lab.current).toMatchObject({ runId: 'run-2', firstRunId: 'run-1', status: 1 });
  });
});

test('a repeated start is answered as the first was, and with whether its run is still open', () => {
  const lab = new Lab();
  lab.begin(startInput());
  completeTask(lab, pollTask(lab), [COMPLETE]);
  expect(lab.begin(startInput())).toMatchObject({ reply: { fresh: true, status: 2 } });
});
