/**
 * Pending work of a run (D5, PROTOCOLS 5): tasks to offer and clocks to arm, from the state (and a memory-only start)
 * alone. Regenerated after a takeover, it is the same.
 *
 * Invariants
 *  1. Keys are unique within a run and stable while the need is the same.
 *  2. A closed run has none; an open one always has a task, a clock, or a start in a worker's hand unless it waits for
 *     a signal.
 */
import { activityWork } from './activities/work.ts';
import { isOpen } from './draft.ts';
import type { RunState, TaskStart } from './state.ts';
import { runTimeoutClock } from './terminate.ts';
import { timerWork } from './timers.ts';
import type { Work } from './work.ts';
import { workflowTaskClocks } from './workflow-task/due.ts';

/** @param start the live start beside the state, if there is one (D7) */
export function pendingWork(state: RunState, start?: TaskStart): readonly Work[] {
  if (!isOpen(state)) return [];
  const timeout = runTimeoutClock(state);
  return [
    ...workflowTaskOffer(state, start),
    ...workflowTaskClocks(state, start),
    ...activityWork(state),
    ...timerWork(state),
    ...(timeout ? [{ kind: 'timer' as const, ...timeout }] : []),
  ];
}

function workflowTaskOffer(state: RunState, start: TaskStart | undefined): readonly Work[] {
  const task = state.workflowTask;
  if (!task || task.started || start) return [];
  const { scheduledEventId, attempt, scheduledAt, notBefore, stickyQueue } = task;
  return [
    {
      kind: 'workflow-task',
      key: `w:${scheduledEventId}:${attempt}${stickyQueue === undefined ? '' : ':s'}`,
      taskQueue: state.start.taskQueue,
      ...(stickyQueue === undefined ? {} : { stickyQueue }),
      scheduledEventId,
      attempt,
      scheduledAt,
      notBefore,
    },
  ];
}
