/** Pending work of activities (D5): the tasks to offer and the clocks to arm, from the state alone. */
import { WorkflowExecutionStatus } from '../../../wire/enums.ts';
import type { PendingActivity, RunState } from '../state.ts';
import type { Work } from '../work.ts';
import { activityClocks } from './clocks.ts';

/**
 * Work by activity. An activity is immutable, so its work is too: where thousands are pending, a transition asks anew
 * only for the one that it changed (P10).
 */
const WORK_OF = new WeakMap<PendingActivity, readonly Work[]>();

export function activityWork(state: RunState): readonly Work[] {
  if (state.status !== WorkflowExecutionStatus.Running) return [];
  const work: Work[] = [];
  for (const activity of state.activities.values()) {
    const known = WORK_OF.get(activity) ?? workOf(activity);
    WORK_OF.set(activity, known);
    work.push(...known);
  }
  return work;
}

/** An attempt is offered until it is started, from its time on; so maximum attempts 1 is offered for one start only. */
function workOf(activity: PendingActivity): readonly Work[] {
  const { scheduledEventId, attempt, scheduledAt } = activity;
  const clocks: readonly Work[] = activityClocks(activity).map(({ key, dueAt }) => ({
    kind: 'timer',
    key,
    dueAt,
  }));
  if (activity.started !== undefined) return clocks;
  const offer: Work = {
    kind: 'activity-task',
    key: `a:${scheduledEventId}:${attempt}`,
    taskQueue: activity.scheduled.taskQueue?.name ?? '',
    scheduledEventId,
    attempt,
    scheduledAt,
    notBefore: scheduledAt,
  };
  return [offer, ...clocks];
}
