/**
 * What a worker says at the end of an attempt: completed, failed, canceled.
 *
 * Place: `decide` for the inputs complete-activity, fail-activity and cancel-activity.
 *
 * Invariant: a refused response changes nothing; an accepted one either closes the activity or makes its attempt
 * one larger.
 */
import { AtollError } from '../../../kernel/errors.ts';
import { changes, type Changes, type Refuse } from '../draft-change.ts';
import type { RunInput } from '../input.ts';
import type { EpochMs, PendingActivity, RunState } from '../state.ts';
import { claimPending, claimStarted } from './claim.ts';
import { closeActivity } from './closing.ts';
import { nextAttempt } from './next-attempt.ts';

type Input<K extends RunInput['kind']> = Omit<Extract<RunInput, { kind: K }>, 'kind'>;

const done = { kind: 'done' } as const;

/**
 * Decides `complete-activity`. By id, who completes need not be the worker that had the task: the activity may even be
 * between attempts. It then counts as started by whoever completed it.
 */
export function completeActivity(
  state: RunState,
  input: Input<'complete-activity'>,
  at: { readonly now: EpochMs; readonly epoch: number },
): Changes | Refuse {
  const { claim, identity, result } = input;
  const byId = claim.scheduledEventId === 0;
  const claimed = byId ? claimPending(state, claim) : claimStarted(state, claim);
  if (claimed.kind === 'refuse') return claimed;
  const { activity } = claimed;
  const started = activity.started ?? { at: at.now, requestId: '', identity, epoch: at.epoch };
  return changes(
    closeActivity(
      { ...activity, started },
      { kind: 'ActivityTaskCompleted', attributes: { result, identity } },
    ),
    done,
  );
}

/** Decides `fail-activity`: another attempt, if the policy, the deadline and the failure allow it; else it failed. */
export function failActivity(
  state: RunState,
  input: Input<'fail-activity'>,
  at: { readonly now: EpochMs },
): Changes | Refuse {
  const { claim, identity, failure, lastHeartbeatDetails } = input;
  const claimed = claimStarted(state, claim);
  if (claimed.kind === 'refuse') return claimed;
  const { activity } = claimed;
  const next = nextAttempt(activity, { now: at.now, failure, identity });
  if (next.kind === 'retry')
    return changes([...progress(activity, lastHeartbeatDetails, at.now), next.change], done);
  const { retryState } = next;
  return changes(
    closeActivity(activity, {
      kind: 'ActivityTaskFailed',
      attributes: { failure, identity, retryState },
    }),
    done,
  );
}

/** Details that came with the failure are the next attempt's heartbeat details. */
function progress(
  { scheduledEventId }: PendingActivity,
  details: Input<'fail-activity'>['lastHeartbeatDetails'],
  now: EpochMs,
) {
  return details === undefined
    ? []
    : [{ patch: { kind: 'activity-heartbeat' as const, scheduledEventId, at: now, details } }];
}

/** Decides `cancel-activity`: only what the workflow asked to cancel can be canceled. */
export function cancelActivity(state: RunState, input: Input<'cancel-activity'>): Changes | Refuse {
  const { claim, identity, details } = input;
  const claimed = claimStarted(state, claim);
  if (claimed.kind === 'refuse') return claimed;
  const { activity } = claimed;
  if (activity.cancelRequestedEventId === 0)
    return {
      kind: 'refuse',
      error: new AtollError(
        'invalid-argument',
        `activity "${activity.scheduled.activityId}" cannot be reported as canceled: ` +
          'its workflow has not requested that. Complete or fail it instead.',
      ),
    };
  return changes(
    closeActivity(activity, {
      kind: 'ActivityTaskCanceled',
      attributes: {
        details,
        identity,
        latestCancelRequestedEventId: activity.cancelRequestedEventId,
      },
    }),
    done,
  );
}
