/**
 * The run that follows a failed or timed-out one by its retry policy: a new run of the same chain, with the next
 * attempt, begun by the same decision that closes the old one.
 *
 * Invariants
 *  1. A chain's execution timeout is set by its first run; no run of it goes on longer.
 *  2. The first workflow task of the new run waits for the policy's back-off (BEHAVIOURS 11).
 */
import { ContinueAsNewInitiator, RetryState } from '../../wire/enums.ts';
import type { Failure } from '../../wire/plain.ts';
import type { Step } from './decision.ts';
import { Draft } from './draft.ts';
import { toDuration } from './durations.ts';
import { nextRetry } from './retry-policy.ts';
import { scheduleTask } from './workflow-task/schedule.ts';

export type RunRetry = {
  /** What the closing event says of it. */
  readonly retryState: RetryState;
  /** Of the run that follows; empty if none does. */
  readonly runId: string;
  readonly step?: Step | undefined;
};

/** Asked before the closing event is written. */
export function retryRun(draft: Draft, failure: Failure): RunRetry {
  const { state, now, ctx } = draft;
  const { start } = state;
  const next = nextRetry({
    policy: start.retryPolicy,
    attempt: start.attempt,
    now,
    expiresAt: start.executionExpiresAt,
    failure,
  });
  if (next.kind === 'stop') return { retryState: next.retryState, runId: '' };
  const before = start.forRetry;
  if (!before) return { retryState: RetryState.InternalServerError, runId: '' };
  const runId = ctx.freshRunId;
  const { namespaceId, workflowId } = state;
  const attributes = {
    ...before,
    continuedExecutionRunId: state.runId,
    initiator: ContinueAsNewInitiator.Retry,
    continuedFailure: failure,
    originalExecutionRunId: runId,
    firstExecutionRunId: start.firstRunId,
    attempt: start.attempt + 1,
    eagerExecutionAccepted: false,
    firstWorkflowTaskBackoff: toDuration(next.delayMs),
    memo: state.memo,
    searchAttributes: state.searchAttributes,
  };
  const ids = { namespaceId, workflowId, runId };
  const { userMetadata } = start;
  const follower = Draft.begin(ids, attributes, { ...ctx, now }, { userMetadata });
  follower.patch({ kind: 'start-request', requestId: start.requestId });
  if (next.delayMs === 0) scheduleTask(follower);
  return { retryState: RetryState.InProgress, runId, step: follower.finish() };
}
