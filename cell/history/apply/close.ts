/**
 * Folds the closing of a run: the status, and nothing stays pending.
 *
 * Place: called by apply/fold.ts for every event.
 *
 * Invariants
 *  1. A run closes once, and nothing is buffered when it does.
 */
import { invariant } from '../../../kernel/invariant.ts';
import { WorkflowExecutionStatus } from '../../../wire/enums.ts';
import type { EventKind } from '../../../wire/event-kinds.ts';
import type { HistoryEvent } from '../../../wire/events.ts';
import type { PendingActivity, PendingTimer } from '../state.ts';
import type { Fold } from './fold-state.ts';

const CLOSED_AS: { readonly [Kind in EventKind]?: WorkflowExecutionStatus } = {
  WorkflowExecutionCompleted: WorkflowExecutionStatus.Completed,
  WorkflowExecutionFailed: WorkflowExecutionStatus.Failed,
  WorkflowExecutionTimedOut: WorkflowExecutionStatus.TimedOut,
  WorkflowExecutionCanceled: WorkflowExecutionStatus.Canceled,
  WorkflowExecutionTerminated: WorkflowExecutionStatus.Terminated,
  WorkflowExecutionContinuedAsNew: WorkflowExecutionStatus.ContinuedAsNew,
};

const NO_ACTIVITIES: ReadonlyMap<number, PendingActivity> = new Map();
const NO_TIMERS: ReadonlyMap<string, PendingTimer> = new Map();

export function applyClose(fold: Fold, event: HistoryEvent): void {
  const status = CLOSED_AS[event.kind];
  if (status === undefined) return;
  invariant(
    fold.status === WorkflowExecutionStatus.Running,
    `${event.kind} of a run that is closed`,
  );
  invariant(
    fold.buffered.length === 0,
    `${event.kind} over ${fold.buffered.length} buffered events`,
  );
  fold.status = status;
  fold.closedAt = event.eventTime;
  fold.workflowTask = undefined;
  fold.sticky = undefined;
  fold.firstTaskAt = undefined;
  fold.activities = NO_ACTIVITIES;
  fold.timers = NO_TIMERS;
  fold.start = { ...fold.start, forRetry: undefined };
}
