/**
 * Request to cancel a run: the worker is told by an event, and decides itself how to end.
 *
 * Invariant: a run is asked once. A further request, with the same id or another, succeeds and changes nothing
 * (BEHAVIOURS 16); a closed run is `not-found`, unless the request is one that the ledger knows.
 */
import type { DecideContext, Decision, LiveRun } from './decision.ts';
import { isOpen } from './draft.ts';
import type { RunInput } from './input.ts';
import { DONE, refuseClosed } from './refusals.ts';
import { openDraft } from './workflow-task/carry.ts';
import { wakeWorker } from './workflow-task/wake.ts';

export function requestCancel(
  run: LiveRun,
  input: Extract<RunInput, { kind: 'request-cancel' }>,
  ctx: DecideContext,
): Decision {
  const { requestId, reason, identity } = input;
  if (requestId !== '' && ctx.ledger.find(requestId)?.kind === 'cancel') return DONE;
  if (!isOpen(run.state)) return refuseClosed(run.state);
  if (run.state.cancelRequested) return DONE;
  const draft = openDraft(run, ctx);
  draft.outside({
    kind: 'WorkflowExecutionCancelRequested',
    attributes: { cause: reason, identity },
  });
  draft.remember({ requestId, kind: 'cancel' });
  wakeWorker(draft);
  return { kind: 'commit', steps: [draft.finish()], reply: { kind: 'done' } };
}
