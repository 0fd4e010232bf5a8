/**
 * The end of a workflow task that did not succeed: reported by the worker, found by us in its commands, or out of
 * time. Only the first attempt's end is written; the next attempts are transient (BEHAVIOURS 4).
 *
 * Invariants
 *  1. After it a task is pending again, unless the caller closes the run.
 *  2. What was buffered is flushed, and then the next task is a real one of attempt 1: there is something new to see.
 */
import { TimeoutType, WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { Failure } from '../../../wire/plain.ts';
import type { DecideContext, Decision, LiveRun } from '../decision.ts';
import { Draft } from '../draft.ts';
import type { RunInput } from '../input.ts';
import type { TaskStart } from '../state.ts';
import { carryStart } from './carry.ts';
import { acceptClaim, taskNotFound } from './claim.ts';
import { scheduleAttempt, scheduleTask } from './schedule.ts';

export type TaskFailure = {
  readonly cause: WorkflowTaskFailedCause;
  readonly failure?: Failure | undefined;
  readonly identity: string;
  readonly binaryChecksum?: string | undefined;
};

/** Decides `fail-workflow-task`. */
export function failTask(
  run: LiveRun,
  input: Extract<RunInput, { kind: 'fail-workflow-task' }>,
  ctx: DecideContext,
): Decision {
  const start = acceptClaim(run, input.claim, input.identity);
  if (!start) return { kind: 'refuse', error: taskNotFound(run.state) };
  const draft = openStarted(run, start, ctx);
  endWithFailure(draft, input);
  return { kind: 'commit', steps: [draft.finish()], reply: { kind: 'done' } };
}

/** A draft on a run whose task was started by this start, durable from here. */
export function openStarted(run: LiveRun, start: TaskStart, ctx: DecideContext): Draft {
  const draft = Draft.of(run, ctx);
  if (run.state.workflowTask?.started === undefined) carryStart(draft, start);
  return draft;
}

/** Ends the started task with a failure and schedules the next. */
export function endWithFailure(draft: Draft, failure: TaskFailure): void {
  const attempt = draft.state.workflowTask?.attempt ?? 1;
  writeFailure(draft, failure);
  // Nobody's fault: it is no attempt that failed, and the next one does not wait.
  if (failure.cause === WorkflowTaskFailedCause.FailoverCloseCommand) goOnAnew(draft);
  else goOn(draft, attempt);
}

/** Ends the started task as timed out and schedules the next. */
export function endWithTimeout(draft: Draft): void {
  const task = draft.state.workflowTask;
  if (task && !task.transient)
    draft.emit('WorkflowTaskTimedOut', {
      scheduledEventId: task.scheduledEventId,
      startedEventId: task.started?.startedEventId ?? 0,
      timeoutType: TimeoutType.StartToClose,
    });
  goOn(draft, task?.attempt ?? 1);
}

/** Writes the failure of the started task, if it is the first. The caller goes on: next task, or close. */
export function writeFailure(draft: Draft, failure: TaskFailure): void {
  const task = draft.state.workflowTask;
  if (!task || task.transient) return;
  draft.emit('WorkflowTaskFailed', {
    scheduledEventId: task.scheduledEventId,
    startedEventId: task.started?.startedEventId ?? 0,
    cause: failure.cause,
    failure: failure.failure,
    identity: failure.identity,
    binaryChecksum: failure.binaryChecksum,
  });
}

/** @param failedAttempts attempts that failed in a row */
function goOn(draft: Draft, failedAttempts: number): void {
  if (draft.flush()) scheduleTask(draft);
  else scheduleAttempt(draft, failedAttempts + 1);
}

function goOnAnew(draft: Draft): void {
  draft.flush();
  scheduleTask(draft);
}
