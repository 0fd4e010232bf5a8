/**
 * A run's state while one transition is folded into it: how such a fold begins and ends.
 *
 * Invariant: a fold is private to its transition. What it shares with the state before is never written, only
 * replaced; once sealed it is a state and is not touched again.
 */
import { WorkflowExecutionStatus } from '../../../wire/enums.ts';
import type { EventOf } from '../../../wire/events.ts';
import { durationMs } from '../durations.ts';
import { NO_LINEAGE, extended } from '../lineage.ts';
import type { RunStart, RunState } from '../state.ts';
import { timestampMs } from '../timestamps.ts';
import type { Transition } from '../transition.ts';

export type Fold = { -readonly [Key in keyof RunState]: RunState[Key] };

/** The ids of a run. */
export type RunIds = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
};

/** A fold that goes on from a state, under the epoch of its transition. */
export function openFold(state: RunState, epoch: number): Fold {
  return { ...state, epoch };
}

/** A fold for a run that is about to fold its first event. */
export function newFold(ids: RunIds, started: EventOf<'WorkflowExecutionStarted'>): Fold {
  const { attributes } = started;
  const start = runStart(ids.runId, started);
  return {
    namespaceId: ids.namespaceId,
    workflowId: ids.workflowId,
    runId: ids.runId,
    transition: 0,
    epoch: started.version,
    lineage: NO_LINEAGE,
    nextEventId: 1,
    historyBytes: 0,
    lastAt: started.eventTime,
    status: WorkflowExecutionStatus.Running,
    closedAt: undefined,
    start,
    memo: attributes.memo,
    searchAttributes: attributes.searchAttributes,
    workflowTask: undefined,
    sticky: undefined,
    lastCompletedStartedEventId: 0,
    activities: new Map(),
    timers: new Map(),
    buffered: [],
    cancelRequested: false,
    signalCount: 0,
    firstTaskAt: start.executionAt > start.startedAt ? start.executionAt : undefined,
  };
}

/** Ends a fold with the number and the time of its transition. The fold must not be touched afterwards. */
export function sealFold(fold: Fold, transition: Pick<Transition, 'number' | 'at'>): RunState {
  fold.transition = transition.number;
  fold.lastAt = transition.at;
  const { epoch, nextEventId } = fold;
  fold.lineage = extended(fold.lineage, {
    epoch,
    transition: transition.number,
    eventId: nextEventId - 1,
  });
  return fold;
}

function runStart(runId: string, started: EventOf<'WorkflowExecutionStarted'>): RunStart {
  const { attributes, eventTime } = started;
  return {
    workflowType: attributes.workflowType?.name ?? '',
    taskQueue: attributes.taskQueue?.name ?? '',
    requestId: '',
    firstRunId: attributes.firstExecutionRunId || runId,
    continuedRunId: attributes.continuedExecutionRunId ?? '',
    attempt: Math.max(attributes.attempt ?? 1, 1),
    startedAt: eventTime,
    executionAt: eventTime + durationMs(attributes.firstWorkflowTaskBackoff),
    executionTimeoutMs: durationMs(attributes.workflowExecutionTimeout),
    runTimeoutMs: durationMs(attributes.workflowRunTimeout),
    taskTimeoutMs: durationMs(attributes.workflowTaskTimeout),
    executionExpiresAt: timestampMs(attributes.workflowExecutionExpirationTime),
    retryPolicy: attributes.retryPolicy,
    userMetadata: started.userMetadata,
    forRetry: attributes.retryPolicy ? attributes : undefined,
  };
}
