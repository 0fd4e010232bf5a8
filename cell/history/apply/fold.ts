/**
 * The fold (D4): one change at a time into the state of a run. `decide` folds what it emits and replay folds what
 * was stored, through the same functions, so that both end in equal states.
 *
 * Place: draft.ts opens a fold for a decision, apply/transition.ts for a replay.
 *
 * Invariants
 *  1. A fold is private to one transition; what it shares with the state before is never written, only replaced.
 *  2. Event ids are contiguous from 1.
 *  3. An event kind without state yet is a fact without state: it counts, and changes nothing else (D17).
 */
import { invariant } from '../../../kernel/invariant.ts';
import type { HistoryEvent } from '../../../wire/events.ts';
import { applyActivityChange } from '../activities/fold.ts';
import type { Change, Patch } from '../patch.ts';
import { applyTimerChange } from '../timers.ts';
import { applyBuffered, applyBufferKept } from './buffer.ts';
import { applyClose } from './close.ts';
import type { Fold } from './fold-state.ts';
import { applyProperties } from './properties.ts';
import { applyWorkflowTaskEvent, applyWorkflowTaskPatch } from './workflow-task.ts';

/** Folds one event or patch. */
export function applyChange(fold: Fold, change: Change): void {
  fold.activities = applyActivityChange(fold.activities, change, fold.epoch);
  fold.timers = applyTimerChange(fold.timers, change);
  if ('eventId' in change) applyEvent(fold, change);
  else applyPatch(fold, change);
}

function applyEvent(fold: Fold, event: HistoryEvent): void {
  invariant(
    event.eventId === fold.nextEventId,
    `event ${event.eventId} ${event.kind} where ${fold.nextEventId} was due`,
  );
  fold.nextEventId = event.eventId + 1;
  applyWorkflowTaskEvent(fold, event);
  applyProperties(fold, event);
  applyClose(fold, event);
}

function applyPatch(fold: Fold, patch: Patch): void {
  switch (patch.kind) {
    case 'start-request':
      fold.start = { ...fold.start, requestId: patch.requestId };
      return;
    case 'workflow-task-scheduled':
    case 'workflow-task-started':
    case 'workflow-task-heartbeat':
    case 'workflow-task-unstuck':
    case 'sticky':
      return applyWorkflowTaskPatch(fold, patch);
    case 'event-buffered':
      return applyBuffered(fold, patch.event);
    case 'buffer-kept':
      return applyBufferKept(fold, patch.indexes);
    case 'activity-started':
    case 'activity-retry':
    case 'activity-heartbeat':
    case 'activity-heartbeat-granted':
      // Pending activities alone, above.
      return;
  }
}
