import { describe, expect, test } from 'vitest';
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import { defaultHistoryLimits } from '../decision.ts';
import { durationMs, toDuration } from '../durations.ts';
import { scheduleActivity } from './schedule.ts';
import { describeOutcome, tableRows } from './testing/describe-outcome.ts';
import { emptyRun, Scene } from './testing/scene.ts';
import { activityTimeouts } from './timeouts.ts';

// Seconds; - is unset. Order: schedule-to-close, schedule-to-start, start-to-close, heartbeat.
const timeouts = `
 asked      | run | kept          | because
 60 - - -   | 0   | 60 60 60 0    | schedule-to-close alone is the limit of all but the heartbeat
 - - 10 -   | 0   | 0 0 10 0      | start-to-close alone leaves the rest unlimited
 - - 10 -   | 100 | 100 100 10 0  | or limited by the run
 60 90 70 - | 0   | 60 60 60 0    | nothing outlasts schedule-to-close
 60 5 10 -  | 0   | 60 5 10 0     | shorter ones stay
 200 - 50 - | 100 | 100 100 50 0  | nothing outlasts the run
 - - 200 -  | 100 | 100 100 100 0 | nor does an attempt
 60 - 10 30 | 0   | 60 60 10 10   | a heartbeat interval is no longer than an attempt
 - 5 10 3   | 0   | 0 5 10 3      | heartbeat and wait stay
 - 5 - 3    | 0   | bad: set startToCloseTimeout or scheduleToCloseTimeout | an attempt must have an end
 60 - -1 -  | 0   | bad: startToCloseTimeout is negative (-1000 ms)       | negative is refused
 -1 - 5 -   | 0   | bad: scheduleToCloseTimeout is negative (-1000 ms)    | negative is not unlimited
`;

describe('timeouts of an activity', () => {
  for (const [asked = '', run, kept, because = ''] of tableRows(timeouts))
    test(because, () => {
      const [close, wait, attempt, beat] = asked
        .split(' ')
        .map((word) => (word === '-' ? undefined : toDuration(Number(word) * 1000)));
      const check = activityTimeouts(
        {
          scheduleToCloseTimeout: close,
          scheduleToStartTimeout: wait,
          startToCloseTimeout: attempt,
          heartbeatTimeout: beat,
        },
        Number(run) * 1000,
      );
      const words =
        check.kind === 'bad'
          ? `bad: ${check.message}`
          : [
              check.timeouts.scheduleToCloseTimeout,
              check.timeouts.scheduleToStartTimeout,
              check.timeouts.startToCloseTimeout,
              check.timeouts.heartbeatTimeout,
            ]
              .map((one) => durationMs(one) / 1000)
              .join(' ');
      expect(words).toBe(kept);
    });
});

const refusals = `
 command                | outcome
 schedule id= st=10     | bad: cannot schedule activity "" of type "Pay": the activity id is empty
 schedule type= st=10   | bad: cannot schedule activity "a" of type "": the activity type is empty
 schedule               | bad: cannot schedule activity "a" of type "Pay": set startToCloseTimeout or scheduleToCloseTimeout
 schedule st=10 max=-1  | bad: cannot schedule activity "a" of type "Pay": retry policy: maximumAttempts is negative (-1)
 schedule st=10         | Scheduled
`;

describe('scheduling an activity', () => {
  for (const [command = '', outcome] of tableRows(refusals))
    test(`"${command}" gives ${outcome}`, () => {
      expect(describeOutcome(new Scene().say(command))).toBe(outcome);
    });

  const command = {
    kind: 'ScheduleActivityTask',
    attributes: {
      activityId: 'a',
      activityType: { name: 'Pay' },
      startToCloseTimeout: { seconds: 10 },
    },
    userMetadata: { summary: { data: new Uint8Array([1]) } },
  } as const;
  const at = { workflowTaskCompletedEventId: 4, limits: defaultHistoryLimits };

  test('the event has every default filled in', () => {
    const outcome = scheduleActivity(emptyRun, command, at);
    expect(outcome).toMatchObject({
      kind: 'changes',
      changes: [
        {
          event: {
            kind: 'ActivityTaskScheduled',
            userMetadata: command.userMetadata,
            attributes: {
              taskQueue: { name: 'orders', kind: 1 },
              workflowTaskCompletedEventId: 4,
              heartbeatTimeout: { seconds: 0, nanos: 0 },
              retryPolicy: {
                initialInterval: { seconds: 1 },
                maximumInterval: { seconds: 100 },
                backoffCoefficient: 2,
                maximumAttempts: 0,
              },
            },
          },
        },
      ],
    });
  });

  test('an id of more than 1,000 characters is refused', () => {
    const activityId = 'x'.repeat(1_001);
    const outcome = scheduleActivity(
      emptyRun,
      { ...command, attributes: { ...command.attributes, activityId } },
      at,
    );
    expect(outcome).toMatchObject({
      cause: WorkflowTaskFailedCause.BadScheduleActivityAttributes,
    });
  });

  test('an id that is pending, and the limit of pending activities, have causes of their own', () => {
    const { state } = new Scene().play('schedule st=10');
    expect(scheduleActivity(state, command, at)).toMatchObject({
      cause: WorkflowTaskFailedCause.ScheduleActivityDuplicateId,
    });
    const other = { ...command, attributes: { ...command.attributes, activityId: 'b' } };
    const full = { ...at, limits: { maximumPendingActivities: 1 } };
    expect(scheduleActivity(state, other, full)).toMatchObject({
      cause: WorkflowTaskFailedCause.PendingActivitiesLimitExceeded,
    });
  });
});
