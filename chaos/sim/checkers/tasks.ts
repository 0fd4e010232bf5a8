/**
 * P1: an effect never comes before its commit. When a worker hears of a workflow task, the history that it shows is
 * stored; when it hears of an activity, that attempt's start is.
 */
import { startKey, type ChronicledRun } from '../chronicle.ts';
import type { Evidence } from '../evidence.ts';
import type { SeenTask } from '../journal.ts';
import type { Check, Tally } from '../tally.ts';

export function checkTasks({ journal, chronicle }: Evidence, tally: Tally<Check>): string[] {
  return journal.tasks
    .filter(({ runId }) => !chronicle.lostRuns.has(runId))
    .flatMap((seen) => {
      tally.add('P1 tasks that workers got');
      const storedMs = storedAt(chronicle.runs.get(seen.runId), seen.task);
      if (storedMs !== undefined && storedMs <= seen.heardMs) return [];
      const when = `at ${seen.heardMs.toFixed(1)}, before it was stored`;
      return [`P1: a worker got ${describe(seen.task)} of ${seen.workflowId} ${when}`];
    });
}

function storedAt(run: ChronicledRun | undefined, task: SeenTask['task']): number | undefined {
  if (task.kind === 'activity') return run?.starts.get(startKey(task));
  return run?.moments.find(({ lastEventId }) => lastEventId >= task.events)?.atMs;
}

function describe(task: SeenTask['task']): string {
  if (task.kind === 'activity') return `attempt ${task.attempt} of activity ${task.activityId}`;
  return `event ${task.events}`;
}
