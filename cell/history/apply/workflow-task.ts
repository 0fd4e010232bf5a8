/**
 * Folds what concerns the workflow task of a run: scheduled, started, ended, its sticky queue.
 *
 * Place: called by apply/fold.ts for every event and for the patches named here.
 *
 * Invariants
 *  1. At most one workflow task is pending.
 *  2. A started event names the pending task.
 *  3. A transient attempt's scheduled id is the next event id, and stays so: any event that is written replaces it.
 */
import { invariant } from '../../../kernel/invariant.ts';
import { TaskQueueKind } from '../../../wire/enums.ts';
import type { EventOf, HistoryEvent } from '../../../wire/events.ts';
import type { Patch } from '../patch.ts';
import type { PendingWorkflowTask } from '../state.ts';
import type { Fold } from './fold-state.ts';

export function applyWorkflowTaskEvent(fold: Fold, event: HistoryEvent): void {
  switch (event.kind) {
    case 'WorkflowTaskScheduled':
      fold.workflowTask = scheduledTask(event);
      fold.firstTaskAt = undefined;
      return;
    case 'WorkflowTaskStarted':
      fold.workflowTask = startedTask(pendingTask(fold), event);
      return;
    case 'WorkflowTaskCompleted':
      fold.workflowTask = undefined;
      fold.lastCompletedStartedEventId = event.attributes.startedEventId ?? 0;
      return;
    case 'WorkflowTaskFailed':
    case 'WorkflowTaskTimedOut':
      // Whoever failed may not live: the next task goes to the normal queue with the whole history (BEHAVIOURS 5).
      fold.workflowTask = undefined;
      fold.sticky = undefined;
      return;
    default:
  }
}

type TaskPatch = Extract<Patch, { kind: `workflow-task-${string}` | 'sticky' }>;

export function applyWorkflowTaskPatch(fold: Fold, patch: TaskPatch): void {
  switch (patch.kind) {
    case 'workflow-task-scheduled':
      fold.sticky = undefined;
      fold.workflowTask = {
        scheduledEventId: fold.nextEventId,
        attempt: patch.attempt,
        transient: true,
        scheduledAt: patch.scheduledAt,
        firstScheduledAt: patch.scheduledAt,
        notBefore: patch.notBefore,
      };
      return;
    case 'workflow-task-started':
      fold.workflowTask = { ...pendingTask(fold), started: patch.start };
      return;
    case 'workflow-task-heartbeat':
      fold.workflowTask = { ...pendingTask(fold), firstScheduledAt: patch.firstScheduledAt };
      return;
    case 'workflow-task-unstuck':
      fold.sticky = undefined;
      fold.workflowTask = { ...pendingTask(fold), stickyQueue: undefined };
      return;
    case 'sticky':
      fold.sticky = patch.sticky;
      return;
  }
}

function scheduledTask(event: EventOf<'WorkflowTaskScheduled'>): PendingWorkflowTask {
  const queue = event.attributes.taskQueue;
  return {
    scheduledEventId: event.eventId,
    attempt: Math.max(event.attributes.attempt ?? 1, 1),
    transient: false,
    scheduledAt: event.eventTime,
    firstScheduledAt: event.eventTime,
    notBefore: 0,
    stickyQueue: queue?.kind === TaskQueueKind.Sticky ? queue.name : undefined,
  };
}

function startedTask(
  task: PendingWorkflowTask,
  event: EventOf<'WorkflowTaskStarted'>,
): PendingWorkflowTask {
  const { attributes } = event;
  invariant(
    attributes.scheduledEventId === task.scheduledEventId,
    `workflow task ${attributes.scheduledEventId} started, pending is ${task.scheduledEventId}`,
  );
  const started = {
    scheduledEventId: task.scheduledEventId,
    startedEventId: event.eventId,
    attempt: task.attempt,
    startedAt: event.eventTime,
    requestId: attributes.requestId ?? '',
    identity: attributes.identity ?? '',
    historyBytes: attributes.historySizeBytes ?? 0,
    suggestContinueAsNew: attributes.suggestContinueAsNew ?? false,
    epoch: event.version,
  };
  return { ...task, started };
}

function pendingTask(fold: Fold): PendingWorkflowTask {
  const task = fold.workflowTask;
  invariant(task !== undefined, `run ${fold.runId} has no pending workflow task`);
  return task;
}
