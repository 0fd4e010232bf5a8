/**
 * What follows an event from outside: a workflow task for it, or, where a worker has one in hand, a look at how much
 * waits for that worker.
 *
 * Invariant: no more events wait than the limit says: the task that they wait for fails, and its worker's late answer
 * is `not-found` (BEHAVIOURS 3).
 */
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { Draft } from '../draft.ts';
import { endWithFailure } from './fail.ts';
import { ensureTask } from './schedule.ts';

export function wakeWorker(draft: Draft): void {
  if (!draft.external) return;
  const { state, ctx } = draft;
  const waiting = state.buffered.length;
  if (state.workflowTask?.started === undefined) return ensureTask(draft);
  if (waiting <= ctx.limits.maximumBufferedEvents) return;
  endWithFailure(draft, {
    cause: WorkflowTaskFailedCause.ForceCloseCommand,
    failure: {
      message: `${waiting} events came while the workflow task was worked on, more than may wait: complete tasks sooner`,
      source: 'Server',
      serverFailureInfo: {},
    },
    identity: '',
  });
}
