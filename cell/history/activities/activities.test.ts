import { describe, expect, test } from 'vitest';
import type { EventOf } from '../../../wire/events.ts';
import { activityWork } from './work.ts';
import { describeEvent, describeOutcome, tableRows } from './testing/describe-outcome.ts';
import { payloads, Scene } from './testing/scene.ts';

// The sentences are explained in testing/scene.ts.
const table = `
 before                                      | input                 | outcome                                   | because
 schedule st=10                              | start                 | started                                   | the start is durable before the worker has the task
 schedule st=10; start                       | start again           | nothing                                   | the same poll asking again changes nothing
 schedule st=10; start                       | start other           | obsolete                                  | an attempt is started once
 schedule st=10; start; complete             | start                 | obsolete                                  | a closed activity is not started
 schedule st=10; start                       | complete              | Started(1), Completed                     | the started event comes with the closing one
 schedule st=10                              | complete              | refused not-found                         | a token is good only for a started attempt
 schedule st=10; start; complete             | complete              | refused not-found                         | an activity completes once
 schedule st=10; start                       | complete/id           | Started(1), Completed                     | completion by id needs no token
 schedule st=10; start; fail E               | complete/id           | Started(2), Completed                     | completion by id works between attempts
 -                                           | complete/id           | refused not-found                         | an id that is not pending is unknown
 schedule st=10; start                       | fail E                | attempt 2 at 1                            | a failure is retried by default after a second
 schedule st=10; start; fail E; @1; start    | fail E                | attempt 3 at 3                            | the back-off doubles
 schedule st=10 init=7; start                | fail E                | attempt 2 at 7                            | the policy's interval counts
 schedule st=10; start                       | fail E delay=9        | attempt 2 at 9                            | the worker may ask for its own delay
 schedule st=10; start                       | fail E final          | Started(1), Failed NonRetryableFailure    | a non-retryable failure is final
 schedule st=10 no=Fatal; start              | fail Fatal            | Started(1), Failed NonRetryableFailure    | a type that the policy names is final
 schedule st=10 no=Fatal; start              | fail Other            | attempt 2 at 1                            | another type is not
 schedule st=10 max=1; start                 | fail E                | Started(1), Failed MaximumAttemptsReached | maximum attempts 1 is at most once
 schedule st=10 max=2; start; fail E; start  | fail E                | Started(2), Failed MaximumAttemptsReached | the last attempt is the one that history shows
 schedule sc=5 init=6; start                 | fail E                | Started(1), Failed Timeout                | schedule-to-close bounds retries
 schedule st=10; start; fail E               | fail E                | refused not-found                         | an attempt fails once
 schedule st=10; start                       | fail/id E             | attempt 2 at 1                            | an activity fails by id
 schedule st=10; start                       | canceled              | refused invalid-argument                  | what nobody asked to cancel is not canceled
 schedule st=10; start; ask                  | canceled              | Started(1), Canceled                      | what was asked is
 schedule st=10; start; ask                  | fail E                | Started(1), Failed CancelRequested        | no retry once cancelling was asked for
 schedule st=10; start; ask                  | complete              | Started(1), Completed                     | a worker may complete in spite of the request
 schedule st=10; start                       | beat x                | beat                                      | a heartbeat is kept
 schedule st=10; start; ask                  | beat x                | beat, cancel!                             | the heartbeat's answer says cancel
 schedule st=10                              | beat x                | refused not-found                         | only a started attempt heartbeats
 schedule st=10; start                       | ask                   | CancelRequested                           | a started activity hears of it later
 schedule st=10                              | ask                   | CancelRequested, Canceled                 | what no worker has is canceled at once
 schedule st=10; start; fail E               | ask                   | CancelRequested, Canceled                 | also between attempts
 schedule st=10; start; task; complete       | ask                   | CancelRequested                           | its end is buffered: recorded, nothing to cancel
 schedule st=10; start; ask                  | ask                   | bad: cancelling the activity of scheduled event 1 was requested before, by event 2 | asked twice
 -                                           | ask                   | bad: no activity of scheduled event 1 is pending: it was never scheduled, or its end is in the history already | never scheduled
 schedule st=10; start; complete             | ask                   | bad: no activity of scheduled event 1 is pending: it was never scheduled, or its end is in the history already | closed in history
 schedule st=10 ss=5; @5                     | due ScheduleToStart   | TimedOut ScheduleToStart Timeout          | no worker came in time
 schedule st=10 ss=5; @4                     | due ScheduleToStart   | obsolete                                  | never early
 schedule st=10 ss=5; start; @5              | due ScheduleToStart   | obsolete                                  | a worker came
 schedule st=10 ss=5; start; fail E; @5      | due ScheduleToStart   | obsolete                                  | the next attempt waits anew, from the end of its back-off
 schedule st=10 ss=5; start; fail E; @6      | due ScheduleToStart   | TimedOut ScheduleToStart Timeout          | and no longer
 schedule st=10; start; @10                  | due StartToClose      | attempt 2 at 11                           | an attempt that takes too long is tried again
 schedule st=10 max=1; start; @10            | due StartToClose      | Started(1), TimedOut StartToClose MaximumAttemptsReached | unless it was the last
 schedule st=10 max=1; start; @9             | due StartToClose      | obsolete                                  | the attempt has its full time
 schedule st=10; start; @9; beat x; @10      | due StartToClose      | attempt 2 at 11                           | a heartbeat never extends start-to-close
 schedule sc=12 st=10 init=3; start; @10     | due StartToClose      | Started(1), TimedOut ScheduleToClose Timeout | no time for another attempt ends it as schedule-to-close does
 schedule sc=5; @5                           | due ScheduleToClose   | TimedOut ScheduleToClose Timeout          | schedule-to-close without any worker
 schedule sc=5; start; @5                    | due ScheduleToClose   | Started(1), TimedOut ScheduleToClose Timeout | schedule-to-close of a started attempt
 schedule sc=5 init=4; start; fail E; @5     | due ScheduleToClose   | TimedOut ScheduleToClose Timeout          | schedule-to-close fires during back-off
 schedule sc=5; @4                           | due ScheduleToClose   | obsolete                                  | schedule-to-close is not early
 schedule st=10 hb=3; start; @3              | due Heartbeat         | attempt 2 at 4                            | a silent worker is given up
 schedule st=10 hb=3; start; @2; beat x; @3  | due Heartbeat         | obsolete                                  | a heartbeat moves the clock
 schedule st=10 hb=3; start; @2; beat x; @5  | due Heartbeat         | attempt 2 at 6                            | by one interval
 schedule st=10 hb=3; start; @9; grant       | due Heartbeat         | obsolete                                  | what was granted after a takeover counts
 schedule st=10 hb=3; start; ask; @3         | due Heartbeat         | Started(1), TimedOut Heartbeat CancelRequested | no retry after a cancel request
 schedule st=10; start; @10; due StartToClose | complete             | refused not-found                         | the attempt that timed out cannot complete
 schedule st=10; start                       | grant                 | nothing                                   | without heartbeat timeout there is nothing to grant
 schedule st=10 hb=3                         | grant                 | nothing                                   | nor before the start
 schedule st=10                              | schedule st=10        | bad: activity "a" is already pending since event 1 | an id is pending once
 schedule st=10; start; task; complete       | schedule st=10        | Scheduled                                 | a buffered end frees the id
`;

describe('activities', () => {
  for (const [before = '', input = '', outcome, because = ''] of tableRows(table))
    test(because, () => {
      expect(describeOutcome(new Scene().play(before).say(input))).toBe(outcome);
    });
});

const histories = `
 story                                                        | history
 schedule st=10; start; complete                              | Scheduled, Started(1), Completed←2
 schedule st=10; start; task; complete; schedule st=10 id=b; flush | Scheduled, Scheduled, Started(1), Completed←3
 schedule st=10; ask                                          | Scheduled, CancelRequested, Canceled←0
 schedule st=10; task; ask; schedule st=10; flush             | Scheduled, CancelRequested, Scheduled, Canceled←0
 schedule sc=5; @5; due ScheduleToClose                       | Scheduled, TimedOut ScheduleToClose Timeout←0
 schedule st=10; start; fail E; @1; start; beat x; complete   | Scheduled, Started(2), Completed←2
`;

describe('the history of an activity', () => {
  for (const [story = '', history] of tableRows(histories))
    test(`${story} reads ${history}`, () => {
      const { events } = new Scene().play(story);
      const words = events.map((event) => {
        const from =
          'startedEventId' in event.attributes ? `←${event.attributes.startedEventId}` : '';
        return describeEvent(event) + from;
      });
      expect(words.join(', ')).toBe(history);
    });
});

describe('what a closing event tells', () => {
  const last = <
    K extends
      EventOf<'ActivityTaskTimedOut'>['kind'] | 'ActivityTaskStarted' | 'ActivityTaskCanceled',
  >(
    story: string,
    kind: K,
  ) => {
    const event = new Scene().play(story).events.findLast((one) => one.kind === kind);
    return event as EventOf<K>;
  };

  test('the last attempt has the failure of the one before', () => {
    const { attributes } = last(
      'schedule st=10; start; fail E; start; complete',
      'ActivityTaskStarted',
    );
    expect(attributes).toMatchObject({ attempt: 2, identity: 'worker', requestId: 'p2' });
    expect(attributes.lastFailure?.message).toBe('E');
  });

  test('a timeout has the last heartbeat and, as its cause, the failure before', () => {
    const { attributes } = last(
      'schedule st=10 hb=3 max=2; start; beat x; fail E; start; @3; due Heartbeat',
      'ActivityTaskTimedOut',
    );
    expect(attributes.failure).toEqual({
      message: 'activity Heartbeat timeout',
      source: 'Server',
      timeoutFailureInfo: { timeoutType: 4, lastHeartbeatDetails: payloads('x') },
      cause: expect.objectContaining({ message: 'E' }),
    });
  });

  test('a cancel before the start names its request', () => {
    const { attributes } = last('schedule st=10; ask', 'ActivityTaskCanceled');
    expect(attributes.latestCancelRequestedEventId).toBe(2);
  });
});

const work = `
 before                                   | work
 -                                        | -
 schedule st=10 sc=60 ss=5 hb=3           | a:1:1@0, at:1:0:ScheduleToClose@60, at:1:1:ScheduleToStart@5
 schedule st=10 sc=60 hb=3; @2; start     | at:1:0:ScheduleToClose@60, at:1:1:StartToClose@12, at:1:1:Heartbeat@5
 schedule st=10 hb=3; @2; start; @4; beat x | at:1:1:StartToClose@12, at:1:1:Heartbeat@7
 schedule st=10 hb=3; start; @2; fail E   | a:1:2@3
 schedule st=10 hb=3; start; @9; grant    | at:1:1:StartToClose@10, at:1:1:Heartbeat@12
 schedule st=10; start; task; complete    | -
`;

describe('pending work of activities', () => {
  for (const [before = '', expected] of tableRows(work))
    test(`after ${before} is ${expected}`, () => {
      const words = activityWork(new Scene().play(before).state).map(
        (one) => `${one.key}@${(one.kind === 'timer' ? one.dueAt : one.notBefore) / 1000}`,
      );
      expect(words.join(', ') || '-').toBe(expected);
    });
});
