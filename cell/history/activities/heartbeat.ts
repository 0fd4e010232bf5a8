/**
 * Heartbeats of started activities, and the interval granted when nobody owned the shard (PROTOCOLS 2.5, D16).
 *
 * Invariants
 *  1. A heartbeat moves the heartbeat clock only; start-to-close stays (BEHAVIOURS 17).
 *  2. Details of the last heartbeat outlive the attempt.
 */
import { WorkflowExecutionStatus } from '../../../wire/enums.ts';
import { changes, type Changes, type DraftChange, type Refuse } from '../draft-change.ts';
import { durationMs } from '../durations.ts';
import type { RunInput } from '../input.ts';
import type { EpochMs, RunState } from '../state.ts';
import { claimStarted, isStarted } from './claim.ts';

/** Decides `heartbeat-activity`; the reply tells the worker whether its workflow wants it canceled. */
export function heartbeatActivity(
  state: RunState,
  input: Omit<Extract<RunInput, { kind: 'heartbeat-activity' }>, 'kind'>,
  at: { readonly now: EpochMs },
): Changes | Refuse {
  const claimed = claimStarted(state, input.claim);
  if (claimed.kind === 'refuse') return claimed;
  const { scheduledEventId, cancelRequestedEventId } = claimed.activity;
  const { details } = input;
  return changes(
    [{ patch: { kind: 'activity-heartbeat', scheduledEventId, at: at.now, details } }],
    { kind: 'heartbeat', cancelRequested: cancelRequestedEventId !== 0 },
  );
}

/** Decides `grant-heartbeats`: a worker could not heartbeat while nobody owned the shard, so its clock begins anew. */
export function grantHeartbeats(state: RunState, at: { readonly now: EpochMs }): Changes {
  if (state.status !== WorkflowExecutionStatus.Running) return changes([], { kind: 'done' });
  const granted: DraftChange[] = [];
  for (const activity of state.activities.values()) {
    if (!isStarted(activity) || durationMs(activity.scheduled.heartbeatTimeout) === 0) continue;
    const { scheduledEventId } = activity;
    granted.push({ patch: { kind: 'activity-heartbeat-granted', scheduledEventId, at: at.now } });
  }
  return changes(granted, { kind: 'done' });
}
