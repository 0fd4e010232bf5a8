/**
 * The clocks of an activity, derived from its state, and what happens when one is due.
 *
 * Place: `activityWork` names the clocks to arm; the shell sends their key back when they are due.
 *
 * Invariants
 *  1. A timeout never comes early: a due clock is judged by the state, not by the alarm (D16).
 *  2. A key that no clock of the state has is obsolete: another attempt, or no activity any more.
 *  3. The heartbeat clock keeps its key while heartbeats move it. An alarm at its older time is obsolete, and the
 *     work names the newer time.
 */
import { RetryState, TimeoutType, WorkflowExecutionStatus } from '../../../wire/enums.ts';
import type { Failure } from '../../../wire/plain.ts';
import { changes, obsolete, type Changes, type Obsolete } from '../draft-change.ts';
import { durationMs } from '../durations.ts';
import { TIMEOUT_NAME } from '../retry-policy.ts';
import type { EpochMs, PendingActivity, RunState } from '../state.ts';
import { closeActivity } from './closing.ts';
import { expiresAt, nextAttempt } from './next-attempt.ts';

const KEY_PREFIX = 'at:';

export type ActivityClock = {
  readonly key: string;
  readonly type: TimeoutType;
  readonly dueAt: EpochMs;
};

/** Clocks that run for the activity as it is: while it waits for a worker, while a worker has it, and over all. */
export function activityClocks(activity: PendingActivity): readonly ActivityClock[] {
  const { scheduled, started, scheduledAt } = activity;
  const clocks: ActivityClock[] = [];
  const arm = (type: TimeoutType, from: EpochMs, timeoutMs: number) => {
    if (timeoutMs > 0) clocks.push({ key: keyOf(activity, type), type, dueAt: from + timeoutMs });
  };
  const end = expiresAt(activity);
  if (end > 0) arm(TimeoutType.ScheduleToClose, 0, end);
  if (started === undefined) {
    arm(TimeoutType.ScheduleToStart, scheduledAt, durationMs(scheduled.scheduleToStartTimeout));
    return clocks;
  }
  arm(TimeoutType.StartToClose, started.at, durationMs(scheduled.startToCloseTimeout));
  const alive = Math.max(started.at, activity.lastHeartbeatAt ?? 0);
  arm(TimeoutType.Heartbeat, alive, durationMs(scheduled.heartbeatTimeout));
  return clocks;
}

/** `at:<scheduledEventId>:<attempt>:<type>`; schedule-to-close spans all attempts, so its attempt reads 0. */
function keyOf(activity: PendingActivity, type: TimeoutType): string {
  const attempt = type === TimeoutType.ScheduleToClose ? 0 : activity.attempt;
  return `${KEY_PREFIX}${activity.scheduledEventId}:${attempt}:${TIMEOUT_NAME[type]}`;
}

/** Whether the key of a `timer-due` input is that of an activity's clock. */
export function isActivityClockKey(key: string): boolean {
  return key.startsWith(KEY_PREFIX);
}

/** Decides a due clock: another attempt, or the end of the activity. */
export function activityTimerDue(state: RunState, key: string, now: EpochMs): Changes | Obsolete {
  const activity = state.activities.get(Number(key.split(':')[1]));
  if (state.status !== WorkflowExecutionStatus.Running || activity === undefined) return obsolete;
  const clock = activityClocks(activity).find((one) => one.key === key);
  if (clock === undefined || now < clock.dueAt) return obsolete;

  const failure = timeoutFailure(clock.type);
  const identity = activity.started?.identity ?? activity.lastIdentity ?? '';
  const next = nextAttempt(activity, { now, failure, identity });
  if (next.kind === 'retry') return changes([next.change], { kind: 'done' });
  return changes(
    closeActivity(activity, {
      kind: 'ActivityTaskTimedOut',
      attributes: {
        failure: finalFailure(activity, clock.type, next.retryState),
        retryState: next.retryState,
      },
    }),
    { kind: 'done' },
  );
}

/** The failure of one attempt, in the shape and words that clients of the contract know. */
function timeoutFailure(timeoutType: TimeoutType): Failure {
  return {
    message: `activity ${TIMEOUT_NAME[timeoutType]} timeout`,
    source: 'Server',
    timeoutFailureInfo: { timeoutType },
  };
}

/**
 * The failure that the workflow sees: with the last heartbeat's details, and the attempt before as its cause. Where
 * schedule-to-close leaves no room for a further attempt, that is what ended the activity, whichever clock rang.
 */
function finalFailure(
  activity: PendingActivity,
  type: TimeoutType,
  retryState: RetryState,
): Failure {
  const outOfTime = retryState === RetryState.Timeout && type !== TimeoutType.ScheduleToStart;
  const timeoutType = outOfTime ? TimeoutType.ScheduleToClose : type;
  return {
    ...timeoutFailure(timeoutType),
    ...(outOfTime && {
      message:
        'Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying',
    }),
    timeoutFailureInfo: { timeoutType, lastHeartbeatDetails: activity.heartbeatDetails },
    cause: activity.lastFailure,
  };
}
