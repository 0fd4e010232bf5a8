/**
 * Whether a worker's token still holds: the acceptance rule of PROTOCOLS 6.
 *
 * Invariants
 *  1. A claim is accepted if all of it matches the start in force; or, where none is known (its owner is gone), if
 *     its attempt is the current one, its started id is what a start would get now, and the last event that it shows is of
 *     the same epoch here: the worker saw exactly this history. The epoch of its start is not compared then.
 *  2. Anything else is `not-found`, and nothing is applied (BEHAVIOURS 9).
 */
import { AtollError } from '../../../kernel/errors.ts';
import type { LiveRun } from '../decision.ts';
import { isOpen } from '../draft.ts';
import type { WorkflowTaskClaim } from '../input.ts';
import { isOnBranch } from '../lineage.ts';
import type { RunState, TaskStart } from '../state.ts';
import { knownStart, nextStartedId } from './start.ts';

/** The start that the claim stands for; undefined when it does not hold. */
export function acceptClaim(
  run: LiveRun,
  claim: WorkflowTaskClaim,
  identity: string,
): TaskStart | undefined {
  const { state } = run;
  const task = state.workflowTask;
  if (!isOpen(state) || !task) return undefined;
  const known = knownStart(run);
  if (known) return sameStart(known, claim) ? known : undefined;
  const current =
    claim.attempt === task.attempt &&
    claim.scheduledEventId === task.scheduledEventId &&
    claim.startedEventId === nextStartedId(state, task) &&
    claim.startedAt >= task.scheduledAt &&
    isOfBranch(state, claim);
  if (!current) return undefined;
  const { branchEpoch: _, ...start } = claim;
  return { ...start, identity };
}

/** After a failover all numbers may be equal, and the events below them others. */
function isOfBranch(
  { lineage, nextEventId }: RunState,
  { branchEpoch: epoch }: WorkflowTaskClaim,
): boolean {
  return epoch === undefined || isOnBranch(lineage, { eventId: nextEventId - 1, epoch });
}

/** What a worker is told whose task is over: it drops its work and polls again. */
export function taskNotFound(state: RunState): AtollError {
  const why = isOpen(state)
    ? 'it timed out, was completed already, or was given to another worker'
    : 'the workflow execution is closed';
  return new AtollError(
    'not-found',
    `workflow task not found: ${why} (workflow "${state.workflowId}", run ${state.runId}). Poll again.`,
  );
}

function sameStart(known: TaskStart, claim: WorkflowTaskClaim): boolean {
  return (
    known.scheduledEventId === claim.scheduledEventId &&
    known.startedEventId === claim.startedEventId &&
    known.startedAt === claim.startedAt &&
    known.attempt === claim.attempt &&
    known.requestId === claim.requestId &&
    known.epoch === claim.epoch
  );
}
