/**
 * Starting a workflow task: in memory only (D7). A poller gets what a started event would say; the event itself is
 * written by the first record that touches the run afterwards, or never.
 *
 * Invariants
 *  1. A task in a worker's hand is not given to another poller; the same poll asking again gets the same start.
 *  2. The worker sees history as it will be if it completes: the ids of a start that is not written are those that
 *     it would get (PROTOCOLS 6).
 */
import { invariant } from '../../../kernel/invariant.ts';
import type { HistoryEvent } from '../../../wire/events.ts';
import type { DecideContext, Decision, LiveRun, WorkflowTaskStartedReply } from '../decision.ts';
import { isOpen, startedAttributes } from '../draft.ts';
import { toDuration } from '../durations.ts';
import type { TaskTaker, RunInput } from '../input.ts';
import { pointAt } from '../lineage.ts';
import type { PendingWorkflowTask, RunState, TaskStart } from '../state.ts';
import { normalQueue } from './schedule.ts';

type StartTaskInput = Extract<RunInput, { kind: 'start-workflow-task' }>;

export function startTask(run: LiveRun, input: StartTaskInput, ctx: DecideContext): Decision {
  const task = run.state.workflowTask;
  const same = task?.scheduledEventId === input.scheduledEventId && task.attempt === input.attempt;
  if (!isOpen(run.state) || !task || !same) return { kind: 'answer', reply: { kind: 'obsolete' } };
  const known = knownStart(run);
  if (known)
    return known.requestId === input.requestId
      ? { kind: 'answer', reply: startedReply(run.state, known) }
      : { kind: 'answer', reply: { kind: 'obsolete' } };
  const start = makeStart(run.state, input, ctx);
  return { kind: 'start', start, reply: startedReply(run.state, start) };
}

/** The start that is in force: durable, or in memory beside the run. */
export function knownStart(run: LiveRun): TaskStart | undefined {
  return run.state.workflowTask?.started ?? run.start;
}

/** The start that the pending task would get now. */
export function makeStart(state: RunState, poll: TaskTaker, ctx: DecideContext): TaskStart {
  const task = state.workflowTask;
  invariant(task !== undefined, `run ${state.runId} has no workflow task to start`);
  const { limits } = ctx;
  return {
    scheduledEventId: task.scheduledEventId,
    startedEventId: nextStartedId(state, task),
    attempt: task.attempt,
    startedAt: Math.max(ctx.now, state.lastAt),
    requestId: poll.requestId,
    identity: poll.identity,
    historyBytes: state.historyBytes,
    suggestContinueAsNew:
      state.nextEventId > limits.suggestContinueAsNewEvents ||
      state.historyBytes >= limits.suggestContinueAsNewBytes,
    epoch: ctx.epoch,
  };
}

/** The id that a start of this task would get now: a transient attempt's scheduled event comes before it. */
export function nextStartedId(state: RunState, task: PendingWorkflowTask): number {
  return task.transient ? state.nextEventId + 1 : state.nextEventId;
}

export function startedReply(state: RunState, start: TaskStart): WorkflowTaskStartedReply {
  const task = state.workflowTask;
  invariant(task !== undefined, `run ${state.runId} has no started workflow task`);
  return {
    kind: 'workflow-task-started',
    start,
    scheduledAt: task.scheduledAt,
    workflowType: state.start.workflowType,
    taskQueue: state.start.taskQueue,
    previousStartedEventId: state.lastCompletedStartedEventId,
    lastStoredEventId: state.nextEventId - 1,
    branch: pointAt(state.lineage, state.nextEventId - 1),
    virtualEvents: virtualEvents(state, task, start),
  };
}

function virtualEvents(
  state: RunState,
  task: PendingWorkflowTask,
  start: TaskStart,
): readonly HistoryEvent[] {
  if (task.started !== undefined && !task.transient) return [];
  const started: HistoryEvent = {
    kind: 'WorkflowTaskStarted',
    eventId: start.startedEventId,
    eventTime: start.startedAt,
    version: start.epoch,
    attributes: startedAttributes(start),
  };
  if (!task.transient) return [started];
  const scheduled: HistoryEvent = {
    kind: 'WorkflowTaskScheduled',
    eventId: start.scheduledEventId,
    eventTime: task.scheduledAt,
    version: start.epoch,
    attributes: {
      taskQueue: normalQueue(state),
      startToCloseTimeout: toDuration(state.start.taskTimeoutMs),
      attempt: task.attempt,
    },
  };
  return [scheduled, started];
}
