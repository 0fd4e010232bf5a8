/**
 * Folds the buffer: events that came while a workflow task was started and wait for their ids (BEHAVIOURS 2).
 * What ends something (an activity, a timer) ends it when it is buffered, so that it cannot end twice: the folds
 * of activities and timers see to that themselves.
 *
 * Place: called by apply/fold.ts for the patches `event-buffered` and `buffer-kept`.
 */
import { invariant } from '../../../kernel/invariant.ts';
import type { BufferedEvent } from '../state.ts';
import type { Fold } from './fold-state.ts';

export function applyBuffered(fold: Fold, event: BufferedEvent): void {
  fold.buffered = [...fold.buffered, event];
  if (event.kind === 'WorkflowExecutionCancelRequested') fold.cancelRequested = true;
}

export function applyBufferKept(fold: Fold, indexes: readonly number[]): void {
  const before = fold.buffered;
  fold.buffered = indexes.map((index) => {
    const event = before[index];
    invariant(event !== undefined, `no buffered event ${index}`);
    return event;
  });
}
