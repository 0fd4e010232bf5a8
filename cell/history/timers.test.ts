import { describe, expect, test } from 'vitest';
import { WorkflowTaskFailedCause } from '../../wire/enums.ts';
import { emptyRun, Scene } from './activities/testing/scene.ts';
import { describeOutcome, tableRows } from './activities/testing/describe-outcome.ts';
import { defaultHistoryLimits } from './decision.ts';
import { toDuration } from './durations.ts';
import type { RunState } from './state.ts';
import { cancelTimer, isTimerKey, startTimer, timerDue, timerWork } from './timers.ts';

// @n sets the time in seconds; `due id n` is the clock of the timer that event n started; `task` opens a workflow task.
const table = `
 before                                  | input     | outcome                                              | because
 -                                       | start a 5 | TimerStarted                                         | a timer starts
 -                                       | start a 0 | TimerStarted                                         | a zero timer is a timer
 start a 5                               | start a 9 | bad: timer "a" is already pending since event 1      | an id is pending at most once
 start a 5; @5; due a 1                  | start a 5 | TimerStarted                                         | an id may be used again once it fired
 -                                       | start a -1 | bad: timer "a" has the duration -1000 ms            | a negative duration is the worker's fault
 -                                       | start     | bad: the timer id is empty                           | so is an empty id
 start a 5                               | cancel a  | TimerCanceled                                        | a pending timer can be canceled
 start a 5; @5; due a 1                  | cancel a  | bad: timer "a" is not pending: it was never started, or its end is in the history already | the worker has seen it fire
 -                                       | cancel a  | bad: timer "a" is not pending: it was never started, or its end is in the history already | nothing to cancel
 start a 5; task; @5; due a 1            | cancel a  | unbuffer 0                                           | a fired timer that is buffered never fired
 start b 5; start a 5; task; @5; due b 1; due a 2 | cancel a | unbuffer 1                                   | whichever it is in the buffer
 start a 5; task; @5; due a 1; cancel a  | cancel a  | bad: timer "a" is not pending: it was never started, or its end is in the history already | but only once
 start a 5; @5                           | due a 1   | TimerFired                                           | a timer fires at its due time
 start a 5; @9                           | due a 1   | TimerFired                                           | or later, after an outage
 start a 5; @4                           | due a 1   | obsolete                                             | but never early
 start a 0                               | due a 1   | TimerFired                                           | a zero timer is due at once
 start a 5; cancel a; @5                 | due a 1   | obsolete                                             | a canceled timer does not fire
 start a 5; task; @5; due a 1            | due a 1   | obsolete                                             | nor does one fire twice
 start a 5; @5; due a 1; start a 1; @6   | due a 1   | obsolete                                             | the alarm of an earlier use of the id is not this timer's
 start a 5; task; @5; due a 1; start a 1; flush; @6 | due a 3 | obsolete                                    | an id in use again has its own event
 start a 5; task; @5; due a 1; start a 1; flush; @6 | due a 2 | TimerFired                                  | and outlives the flush of the older end
`;

describe('timers', () => {
  for (const [before = '', input = '', outcome, because = ''] of tableRows(table))
    test(because, () => {
      const scene = new Scene();
      for (const sentence of before === '-' ? [] : before.split('; ')) play(scene, sentence);
      expect(play(scene, input)).toBe(outcome);
    });

  test('pending work is the clocks of what has not ended, in order of starting', () => {
    const scene = new Scene();
    for (const sentence of ['start a 5', 'start b:c 3', '@3', 'due b:c 2', 'start c 9'])
      play(scene, sentence);
    expect(timerWork(scene.state)).toEqual([
      { kind: 'timer', key: 't:1:a', dueAt: 5_000 },
      { kind: 'timer', key: 't:4:c', dueAt: 12_000 },
    ]);
  });

  test('any id makes a key that finds its timer again', () => {
    for (const timerId of ['a', 'a:b', ':', 't:1:', 'a\nb', '🙂']) {
      const scene = new Scene();
      scene.take(start(scene.state, timerId, 0));
      const [work] = timerWork(scene.state);
      expect(isTimerKey(work?.key ?? '')).toBe(true);
      expect(timerDue(scene.state, work?.key ?? '', 0).kind).toBe('changes');
    }
  });

  test('more timers than the limit fail the task with a bad start', () => {
    const { state } = new Scene({
      ...emptyRun,
      timers: new Map([['x', { timerId: 'x', startedEventId: 1, dueAt: 0 }]]),
    });
    expect(start(state, 'a', 0, 1)).toMatchObject({
      kind: 'bad-command',
      cause: WorkflowTaskFailedCause.BadStartTimerAttributes,
    });
  });
});

function play(scene: Scene, sentence: string): string {
  const [verb = '', timerId = '', n = ''] = sentence.split(' ');
  switch (verb) {
    case 'start':
      return describeOutcome(scene.take(start(scene.state, timerId, Number(n) * 1000)));
    case 'cancel':
      return describeOutcome(
        scene.take(
          cancelTimer(
            scene.state,
            { kind: 'CancelTimer', attributes: { timerId } },
            { workflowTaskCompletedEventId: 0, identity: 'worker' },
          ),
        ),
      );
    case 'due':
      return describeOutcome(scene.take(timerDue(scene.state, `t:${n}:${timerId}`, scene.now)));
    default:
      return describeOutcome(scene.say(sentence));
  }
}

function start(
  state: RunState,
  timerId: string,
  durationMs: number,
  maximumPendingTimers = defaultHistoryLimits.maximumPendingTimers,
) {
  return startTimer(
    state,
    {
      kind: 'StartTimer',
      attributes: { timerId, startToFireTimeout: toDuration(durationMs) },
    },
    { workflowTaskCompletedEventId: 0, limits: { maximumPendingTimers } },
  );
}
