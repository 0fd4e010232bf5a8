/**
 * A namespace became active here in a newer epoch: a workflow task whose durable start is of an older one is failed, for
 * its worker spoke to another cell (PROTOCOLS 8.5, BEHAVIOURS 26). What was buffered keeps the epoch that it came in.
 */
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { DecideContext, Decision, LiveRun } from '../decision.ts';
import { isOpen } from '../draft.ts';
import { OBSOLETE } from '../refusals.ts';
import type { RunState } from '../state.ts';
import { endWithFailure, openStarted } from './fail.ts';

/** Whether the run's task was started, durably, in an epoch before this one. */
export function isOfOlderEpoch(state: RunState, epoch: number): boolean {
  const started = state.workflowTask?.started;
  return isOpen(state) && started !== undefined && started.epoch < epoch;
}

/** Decides `fail-over`. */
export function failOver(run: LiveRun, ctx: DecideContext): Decision {
  const started = run.state.workflowTask?.started;
  if (!started || !isOfOlderEpoch(run.state, ctx.epoch)) return OBSOLETE;
  const draft = openStarted(run, started, ctx);
  endWithFailure(draft, {
    cause: WorkflowTaskFailedCause.FailoverCloseCommand,
    identity: started.identity,
  });
  return { kind: 'commit', steps: [draft.finish()], reply: { kind: 'done' } };
}
