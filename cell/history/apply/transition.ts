/**
 * Replay: a stored transition into the state of its run. Takeover, rebuild, standby and simulation use it.
 *
 * Invariants
 *  1. Transitions of a run are applied in order, each once: number = transition + 1 (P4).
 *  2. The first transition of a run begins with WorkflowExecutionStarted.
 */
import { invariant } from '../../../kernel/invariant.ts';
import { WorkflowExecutionStatus } from '../../../wire/enums.ts';
import type { EventOf } from '../../../wire/events.ts';
import { durationMs } from '../durations.ts';
import { timestampMs } from '../timestamps.ts';
import type { RunStart, RunState } from '../state.ts';
import type { Transition } from '../transition.ts';
import { applyChange, type Fold } from './fold.ts';

/** The ids of a run. */
export type RunIds = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
};

/** The state after a transition; `state` is undefined for the first of a run. */
export function applyTransition(state: RunState | undefined, transition: Transition): RunState {
  const before = state?.transition ?? 0;
  invariant(
    transition.number === before + 1,
    `transition ${transition.number} of run ${transition.runId} where ${before + 1} was due`,
  );
  const [first] = transition.changes;
  let fold: Fold;
  if (state) fold = openFold(state, transition.epoch);
  else {
    invariant(
      first?.kind === 'WorkflowExecutionStarted',
      `run ${transition.runId} begins with ${first?.kind ?? 'nothing'}`,
    );
    fold = newFold(transition, first);
  }
  for (const change of transition.changes) applyChange(fold, change);
  return sealFold(fold, transition);
}

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
    forRetry: attributes.retryPolicy ? attributes : undefined,
  };
}
