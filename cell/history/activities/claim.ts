/**
 * Which activity a worker speaks of, by its token or by activity id, and whether it may still speak of it.
 *
 * Invariant: a claim of an attempt that is over, of an attempt that was never started, or of an activity that is
 * closed, or of another branch of the run, is refused with `not-found`, and nothing is applied (BEHAVIOURS 9).
 */
import { AtollError } from '../../../kernel/errors.ts';
import { WorkflowExecutionStatus } from '../../../wire/enums.ts';
import type { Refuse } from '../draft-change.ts';
import type { ActivityClaim } from '../input.ts';
import { isOnBranch } from '../lineage.ts';
import type { PendingActivity, RunState } from '../state.ts';

export type StartedActivity = PendingActivity & {
  readonly started: NonNullable<PendingActivity['started']>;
};

export type Claimed<A extends PendingActivity> =
  { readonly kind: 'claimed'; readonly activity: A } | Refuse;

/** The claimed activity, pending and in a worker's hands. */
export function claimStarted(state: RunState, claim: ActivityClaim): Claimed<StartedActivity> {
  const claimed = claimPending(state, claim);
  if (claimed.kind === 'refuse') return claimed;
  const { activity } = claimed;
  if (isStarted(activity)) return { kind: 'claimed', activity };
  return notFound(state, claim, `attempt ${activity.attempt} is not started`);
}

/** The claimed activity, pending; started unless it was claimed by id. */
export function claimPending(state: RunState, claim: ActivityClaim): Claimed<PendingActivity> {
  if (state.status !== WorkflowExecutionStatus.Running)
    return notFound(state, claim, 'the workflow execution is closed');
  const activity =
    claim.scheduledEventId === 0
      ? findById(state, claim.activityId)
      : state.activities.get(claim.scheduledEventId);
  if (activity === undefined) return notFound(state, claim, 'it is closed or was never scheduled');
  if (!isOfBranch(state, claim))
    return notFound(
      state,
      claim,
      'it was scheduled in a branch of the run that lost in a failover',
    );
  if (claim.attempt !== 0 && claim.attempt !== activity.attempt)
    return notFound(state, claim, `attempt ${claim.attempt} is over, now is ${activity.attempt}`);
  return { kind: 'claimed', activity };
}

/** After a failover the same event id may be of another activity. */
function isOfBranch(
  { lineage }: RunState,
  { scheduledEventId: eventId, scheduledEpoch: epoch }: ActivityClaim,
): boolean {
  return epoch === undefined || isOnBranch(lineage, { eventId, epoch });
}

/** The pending activity of that id; ids are unique among pending ones. */
export function findById(state: RunState, activityId: string): PendingActivity | undefined {
  for (const activity of state.activities.values())
    if (activity.scheduled.activityId === activityId) return activity;
  return undefined;
}

export function isStarted(activity: PendingActivity): activity is StartedActivity {
  return activity.started !== undefined;
}

function notFound(state: RunState, claim: ActivityClaim, why: string): Refuse {
  const which =
    claim.scheduledEventId === 0
      ? `activity id "${claim.activityId}"`
      : `scheduled event ${claim.scheduledEventId}`;
  return {
    kind: 'refuse',
    error: new AtollError(
      'not-found',
      `activity not found: ${which} of workflow "${state.workflowId}", run ${state.runId}: ${why}. ` +
        'Drop the task; its outcome is not needed any more.',
    ),
  };
}
