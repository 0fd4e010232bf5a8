/**
 * Whether an activity's attempt that ended badly, by failure or by timeout, is followed by another.
 *
 * Invariants
 *  1. Attempts grow by one.
 *  2. Schedule-to-close bounds all attempts with their back-off; what was asked to cancel is not tried again.
 */
import { RetryState, TimeoutType } from '../../../wire/enums.ts';
import type { Failure } from '../../../wire/plain.ts';
import type { DraftChange } from '../draft-change.ts';
import { durationMs } from '../durations.ts';
import { nextRetry } from '../retry-policy.ts';
import type { EpochMs, PendingActivity } from '../state.ts';

export type NextAttempt =
  | { readonly kind: 'retry'; readonly change: DraftChange }
  | { readonly kind: 'stop'; readonly retryState: RetryState };

/** The patch that starts the back-off, or why there is no further attempt. */
export function nextAttempt(
  activity: PendingActivity,
  ended: {
    readonly now: EpochMs;
    readonly failure: Failure | undefined;
    readonly identity: string;
  },
): NextAttempt {
  const { scheduledEventId, attempt } = activity;
  const { now, failure, identity } = ended;
  const policy = activity.scheduled.retryPolicy;
  if (policy !== undefined && activity.cancelRequestedEventId !== 0)
    return { kind: 'stop', retryState: RetryState.CancelRequested };
  if (policy !== undefined && isOwnDeadline(failure))
    return { kind: 'stop', retryState: RetryState.Timeout };
  const answer = nextRetry({ policy, attempt, now, expiresAt: expiresAt(activity), failure });
  if (answer.kind === 'stop') return answer;
  return {
    kind: 'retry',
    change: {
      patch: {
        kind: 'activity-retry',
        scheduledEventId,
        attempt: attempt + 1,
        scheduledAt: now + answer.delayMs,
        failure,
        identity,
      },
    },
  };
}

/** End of schedule-to-close over all attempts; 0 = no end. */
export function expiresAt(activity: PendingActivity): EpochMs {
  const limit = durationMs(activity.scheduled.scheduleToCloseTimeout);
  return limit > 0 ? activity.firstScheduledAt + limit : 0;
}

/** A worker never reports these of the activity itself: they say that waiting, not running, took too long. */
function isOwnDeadline(failure: Failure | undefined): boolean {
  const type = failure?.timeoutFailureInfo?.timeoutType;
  return type === TimeoutType.ScheduleToStart || type === TimeoutType.ScheduleToClose;
}
