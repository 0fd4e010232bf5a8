/**
 * A namespace became active here in a newer epoch: a workflow task whose durable start is of an older one is failed, for
 * its worker spoke to another cell (PROTOCOLS 8.5, BEHAVIOURS 26). What was buffered keeps the epoch that it came in.
 */
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { DecideContext, Decision, LiveRun } from '../decision.ts';
import { isOpen } from '../draft.ts';
import { OBSOLETE } from '../refusals.ts';
import type { RunState } from '../state.ts';
import { openDraft } from './carry.ts';
import { endWithFailure, openStarted } from './fail.ts';

/** Whether the run's task was started, durably, in an epoch before this one, or waits for a worker that is sticky since. */
export function isOfOlderEpoch(state: RunState, epoch: number): boolean {
  const started = state.workflowTask?.started;
  if (!isOpen(state)) return false;
  return started ? started.epoch < epoch : waitsSticky(state, epoch);
}

/** Its sticky worker may remember another branch: the task is not to be offered before it is for any worker. */
export function waitsSticky({ workflowTask: task, epoch: last }: RunState, epoch: number): boolean {
  return task?.stickyQueue !== undefined && task.started === undefined && last < epoch;
}

/** Decides `fail-over`. */
export function failOver(run: LiveRun, ctx: DecideContext): Decision {
  if (!isOfOlderEpoch(run.state, ctx.epoch)) return OBSOLETE;
  const started = run.state.workflowTask?.started;
  if (!started) {
    const steps = [openDraft(run, ctx).finish()] as const;
    return { kind: 'commit', steps, reply: { kind: 'done' } };
  }
  const draft = openStarted(run, started, ctx);
  endWithFailure(draft, {
    cause: WorkflowTaskFailedCause.FailoverCloseCommand,
    identity: started.identity,
  });
  return { kind: 'commit', steps: [draft.finish()], reply: { kind: 'done' } };
}
