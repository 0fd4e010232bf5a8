/**
 * A poller has an activity task in hand: its start, durable before the worker gets it (D7).
 *
 * Invariants
 *  1. An attempt is started at most once; the same poll asking again gets the same answer.
 *  2. So an activity of maximum attempts 1 reaches a worker at most once (P4).
 */
import { WorkflowExecutionStatus } from '../../../wire/enums.ts';
import type { ActivityStartedReply } from '../decision.ts';
import { changes, obsolete, type Changes, type Obsolete } from '../draft-change.ts';
import type { RunInput } from '../input.ts';
import { pointAt } from '../lineage.ts';
import type { EpochMs, PendingActivity, RunState } from '../state.ts';

/** Decides `start-activity`; also the eager start of an activity that a command has just scheduled. */
export function startActivity(
  state: RunState,
  input: Omit<Extract<RunInput, { kind: 'start-activity' }>, 'kind'>,
  at: { readonly now: EpochMs; readonly epoch: number },
): Changes | Obsolete {
  const activity = state.activities.get(input.scheduledEventId);
  if (state.status !== WorkflowExecutionStatus.Running || activity?.attempt !== input.attempt)
    return obsolete;
  if (activity.started !== undefined)
    return activity.started.requestId === input.requestId
      ? changes([], startedReply(state, activity, { ...at, now: activity.started.at }))
      : obsolete;
  const { scheduledEventId, requestId, identity } = input;
  const started = { at: at.now, requestId, identity, epoch: at.epoch };
  return changes(
    [{ patch: { kind: 'activity-started', scheduledEventId, at: at.now, requestId, identity } }],
    startedReply(state, { ...activity, started }, at),
  );
}

function startedReply(
  state: RunState,
  activity: PendingActivity,
  { now: startedAt, epoch }: { readonly now: EpochMs; readonly epoch: number },
): ActivityStartedReply {
  return {
    kind: 'activity-started',
    activity,
    scheduled: activity.scheduled,
    // What is scheduled by the same decision has no place in the lineage yet.
    scheduledEpoch: pointAt(state.lineage, activity.scheduledEventId)?.epoch ?? epoch,
    startedAt,
    workflowType: state.start.workflowType,
    heartbeatDetails: activity.heartbeatDetails,
  };
}
