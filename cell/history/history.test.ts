import { expect, test } from 'vitest';
import { COMPLETE, activity, startInput, startTimer } from './testing/inputs.ts';
import { Lab } from './testing/lab.ts';
import { completeTask, pollTask, say } from './testing/worker.ts';

test('a one-activity workflow goes from its start to its end, and its history says so', () => {
  const lab = new Lab();
  lab.begin(startInput());
  completeTask(lab, pollTask(lab), [activity('a')]);
  const started = lab.ask({
    kind: 'start-activity',
    scheduledEventId: 5,
    attempt: 1,
    requestId: 'p',
    identity: 'w',
  });
  expect(started.kind).toBe('commit');
  const claim = { scheduledEventId: 5, activityId: 'a', attempt: 1 };
  lab.ask({ kind: 'complete-activity', claim, identity: 'w' });
  completeTask(lab, pollTask(lab), [COMPLETE]);
  expect(say(lab)).toBe(
    'Started TaskScheduled TaskStarted TaskCompleted ActivityScheduled ' +
      'ActivityStarted ActivityCompleted TaskScheduled TaskStarted TaskCompleted Completed',
  );
  expect(lab.state.status).toBe(2);
  expect(lab.work).toEqual([]);
  expect(lab.current?.status).toBe(2);
});

test('a timer and a signal wake the worker, and a termination ends it', () => {
  const lab = new Lab();
  lab.begin(startInput());
  completeTask(lab, pollTask(lab), [startTimer('t', 5)]);
  const clock = lab.work.find((work) => work.kind === 'timer');
  lab.now += 5_000;
  lab.ask({ kind: 'timer-due', key: clock?.key ?? '' });
  lab.ask({ kind: 'signal', requestId: 's', name: 'go', identity: 'c' });
  lab.ask({ kind: 'terminate', reason: 'enough', identity: 'c' });
  expect(say(lab)).toBe(
    'Started TaskScheduled TaskStarted TaskCompleted TimerStarted TimerFired TaskScheduled Signaled Terminated',
  );
  const late = lab.ask({ kind: 'signal', requestId: 's2', name: 'go', identity: 'c' });
  expect(late.kind).toBe('refuse');
});
