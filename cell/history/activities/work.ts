/** Pending work of activities (D5): the tasks to offer and the clocks to arm, from the state alone. */
import { WorkflowExecutionStatus } from '../../../wire/enums.ts';
import type { RunState } from '../state.ts';
import type { Work } from '../work.ts';
import { activityClocks } from './clocks.ts';

/** An attempt is offered until it is started, from its time on; so maximum attempts 1 is offered for one start only. */
export function activityWork(state: RunState): readonly Work[] {
  if (state.status !== WorkflowExecutionStatus.Running) return [];
  const work: Work[] = [];
  for (const activity of state.activities.values()) {
    const { scheduledEventId, attempt, scheduledAt } = activity;
    if (activity.started === undefined)
      work.push({
        kind: 'activity-task',
        key: `a:${scheduledEventId}:${attempt}`,
        taskQueue: activity.scheduled.taskQueue?.name ?? '',
        scheduledEventId,
        attempt,
        scheduledAt,
        notBefore: scheduledAt,
      });
    for (const { key, dueAt } of activityClocks(activity)) work.push({ kind: 'timer', key, dueAt });
  }
  return work;
}
