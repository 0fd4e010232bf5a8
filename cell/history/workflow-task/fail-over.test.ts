import { expect, test } from 'vitest';
import { startInput, startTimer } from '../testing/inputs.ts';
import { Lab } from '../testing/lab.ts';
import { completeTask, pollTask } from '../testing/worker.ts';

/** A run that waits for its timer, whose worker wants its next tasks on a queue of its own. */
function sticky(): Lab {
  const lab = new Lab();
  lab.begin(startInput());
  const task = pollTask(lab);
  const own = { queue: 'own', scheduleToStartMs: 5_000 };
  completeTask(lab, task, [startTimer('t', 60)], { sticky: own });
  return lab;
}

const signal = { kind: 'signal', requestId: 's', name: 'go', identity: 'client' } as const;

test('a task that waits for a sticky worker of an older epoch is for any worker after the failover', () => {
  const lab = sticky();
  lab.ask(signal);
  expect(lab.state.workflowTask?.stickyQueue).toBe('own');
  expect(lab.ask({ kind: 'fail-over' })).toMatchObject({ kind: 'answer' });
  lab.epoch = 2;
  expect(lab.ask({ kind: 'fail-over' })).toMatchObject({ kind: 'commit' });
  expect(lab.state.workflowTask).toMatchObject({ stickyQueue: undefined, attempt: 1 });
  expect(lab.state.sticky).toBeUndefined();
  expect(lab.ask({ kind: 'fail-over' })).toMatchObject({ kind: 'answer' });
});

test('the first task that is scheduled in a newer epoch is for any worker', () => {
  const lab = sticky();
  lab.epoch = 2;
  lab.ask(signal);
  expect(lab.state.workflowTask?.stickyQueue).toBeUndefined();
  expect(lab.state.sticky).toBeUndefined();
});

test('a task that was started in an older epoch fails, and goes on as a first attempt', () => {
  const lab = new Lab();
  lab.begin(startInput());
  pollTask(lab);
  lab.ask(signal); // Makes the start durable.
  lab.epoch = 2;
  expect(lab.ask({ kind: 'fail-over' })).toMatchObject({ kind: 'commit' });
  expect(lab.state.workflowTask).toMatchObject({ attempt: 1, transient: false });
  expect(lab.state.workflowTask?.started).toBeUndefined();
  expect(lab.events.map(({ kind }) => kind).slice(-3)).toEqual([
    'WorkflowTaskFailed',
    'WorkflowExecutionSignaled',
    'WorkflowTaskScheduled',
  ]);
});
