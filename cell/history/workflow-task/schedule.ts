/**
 * Scheduling workflow tasks: at most one is pending, and one is there whenever the worker has something to see.
 *
 * Place: called by whatever writes an event from outside, and at the end of a workflow task.
 *
 * Invariants
 *  1. Nothing wakes a first task before its back-off has ended (BEHAVIOURS 11).
 *  2. A transient attempt that waits becomes a real task of attempt 1 when a new event comes (BEHAVIOURS 4).
 */
import { TaskQueueKind } from '../../../wire/enums.ts';
import type { TaskQueue } from '../../../wire/plain.ts';
import { toDuration } from '../durations.ts';
import { isOpen, type Draft } from '../draft.ts';
import type { EpochMs, RunState } from '../state.ts';

/** Attempts that follow each other at once; those after them wait (BEHAVIOURS 6). */
const IMMEDIATE_ATTEMPTS = 2;
const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 600_000;

/** Schedules a task for what was written, unless one is pending already or the first one still waits. */
export function ensureTask(draft: Draft): void {
  const { state } = draft;
  if (!isOpen(state) || state.firstTaskAt !== undefined) return;
  const task = state.workflowTask;
  if (task?.started !== undefined) return;
  if (task !== undefined && !task.transient) return;
  scheduleTask(draft);
}

/** Writes a scheduled event of attempt 1, for the sticky queue where there is one. */
export function scheduleTask(draft: Draft): void {
  const { state } = draft;
  draft.emit('WorkflowTaskScheduled', {
    taskQueue: state.sticky ? stickyQueue(state, state.sticky.queue) : normalQueue(state),
    startToCloseTimeout: toDuration(state.start.taskTimeoutMs),
    attempt: 1,
  });
}

/** The next attempt of a task that failed: transient, with back-off, on the normal queue. */
export function scheduleAttempt(draft: Draft, attempt: number): void {
  const wait = taskBackoffMs(attempt);
  draft.patch({
    kind: 'workflow-task-scheduled',
    attempt,
    scheduledAt: draft.now,
    notBefore: wait === 0 ? 0 : draft.now + wait,
  });
}

/** How long an attempt waits after the one before it failed: 0, 0, 1 s, 2 s, 4 s … 10 min. No chance in it (D4). */
export function taskBackoffMs(attempt: number): EpochMs {
  if (attempt <= IMMEDIATE_ATTEMPTS) return 0;
  return Math.min(FIRST_BACKOFF_MS * 2 ** (attempt - IMMEDIATE_ATTEMPTS - 1), LONGEST_BACKOFF_MS);
}

export function normalQueue(state: RunState): TaskQueue {
  return { name: state.start.taskQueue, kind: TaskQueueKind.Normal };
}

function stickyQueue(state: RunState, name: string): TaskQueue {
  return { name, kind: TaskQueueKind.Sticky, normalName: state.start.taskQueue };
}
