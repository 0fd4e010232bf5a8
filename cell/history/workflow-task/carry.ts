/**
 * Opening a draft on a run whose workflow task may be in a worker's hand: the first record that touches the run
 * carries the start that was memory only (D7, PROTOCOLS 6).
 *
 * Invariants
 *  1. A draft opened here never has a start beside its state: what was in memory is in the transition.
 *  2. The started event says what the worker was shown.
 *  3. Nothing is sticky across epochs.
 */
import { invariant } from '../../../kernel/invariant.ts';
import type { DecideContext, LiveRun } from '../decision.ts';
import { Draft, startedAttributes } from '../draft.ts';
import { toDuration } from '../durations.ts';
import type { TaskStart } from '../state.ts';
import { normalQueue } from './schedule.ts';
import { nextStartedId } from './start.ts';

/** A draft whose first change carries the live start, if there is one. */
export function openDraft(run: LiveRun, ctx: DecideContext): Draft {
  const draft = Draft.of(run, ctx);
  if (run.state.epoch < ctx.epoch) forgetSticky(draft);
  if (run.start) carryStart(draft, run.start);
  return draft;
}

/** A sticky worker may remember another branch of the run, which a cell wrote since: it is to see the whole history. */
function forgetSticky(draft: Draft): void {
  const { workflowTask: task, sticky } = draft.state;
  if (task?.stickyQueue) draft.patch({ kind: 'workflow-task-unstuck' });
  else if (sticky) draft.patch({ kind: 'sticky' });
}

/** Makes a memory-only start durable: as its event, or for a transient attempt as a patch (BEHAVIOURS 4). */
export function carryStart(draft: Draft, start: TaskStart): void {
  const task = draft.state.workflowTask;
  invariant(
    task?.scheduledEventId === start.scheduledEventId && task.started === undefined,
    `start of workflow task ${start.scheduledEventId} beside pending ${task?.scheduledEventId}`,
  );
  draft.notBefore(start.startedAt);
  if (task.transient) draft.patch({ kind: 'workflow-task-started', start });
  else writeStarted(draft, start);
}

/**
 * Writes whatever of the task's scheduled and started events history does not hold yet: the worker completed it, so
 * what it saw becomes what was.
 */
export function makeReal(draft: Draft, start: TaskStart): void {
  const task = draft.state.workflowTask;
  invariant(task !== undefined, `run ${draft.state.runId} has no workflow task to complete`);
  if (task.started !== undefined && !task.transient) return;
  invariant(
    start.startedEventId === nextStartedId(draft.state, task),
    `started event ${start.startedEventId} where ${nextStartedId(draft.state, task)} is due`,
  );
  draft.notBefore(start.startedAt);
  if (task.transient) {
    const attributes = {
      taskQueue: normalQueue(draft.state),
      startToCloseTimeout: toDuration(draft.state.start.taskTimeoutMs),
      attempt: task.attempt,
    };
    draft.emit('WorkflowTaskScheduled', attributes, { at: task.scheduledAt });
  }
  writeStarted(draft, start);
}

function writeStarted(draft: Draft, start: TaskStart): void {
  const id = draft.emit('WorkflowTaskStarted', startedAttributes(start), { at: start.startedAt });
  invariant(id === start.startedEventId, `start ${start.startedEventId} written as event ${id}`);
}
