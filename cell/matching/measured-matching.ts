/**
 * The matching port, measured: how long tasks wait for a poller, and how often a full queue tells owners to hold.
 * Place: between shards, frontend and the adapter, put there by bin/. Sizes and ages: `backlogs` of the adapter.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Matching, TaskKind } from './matching.ts';

export function measuredMatching<Started>(
  matching: Matching<Started>,
  metrics: Metrics,
  clock: Clock,
): Matching<Started> {
  const byKind = <T>(make: (kind: TaskKind) => T): Readonly<Record<TaskKind, T>> => ({
    'workflow-task': make('workflow-task'),
    'activity-task': make('activity-task'),
    'query-task': make('query-task'),
  });
  const waitedMs = byKind((kind) => metrics.histogram('schedule_to_start_ms', { kind }));
  const accepted = byKind((kind) => metrics.counter('tasks_offered_total', { kind }));
  const full = byKind((kind) => metrics.counter('tasks_held_total', { kind }));
  const emptyPolls = metrics.counter('polls_empty_total');
  return {
    offer(task) {
      const outcome = matching.offer(task);
      (outcome === 'accepted' ? accepted : full)[task.kind].inc();
      return outcome;
    },
    async poll(queue, poller) {
      const task = await matching.poll(queue, poller);
      if (task === undefined) emptyPolls.inc();
      else waitedMs[task.kind].observe(Math.max(0, clock.now() - task.scheduledAt));
      return task;
    },
    reserve(queue) {
      const reserved = matching.reserve(queue);
      if (reserved === undefined) return undefined;
      return {
        identity: reserved.identity,
        hand(task) {
          const taken = reserved.hand(task);
          if (taken) accepted[task.kind].inc();
          return taken;
        },
        release: () => reserved.release(),
      };
    },
    giveBack: (task) => matching.giveBack(task),
    isPolled: (queue) => matching.isPolled(queue),
    forget: (queue) => matching.forget(queue),
    release: (namespaceId) => matching.release(namespaceId),
    backlog: (queue) => matching.backlog(queue),
    pollers: (queue) => matching.pollers(queue),
    onRoom: (listener) => matching.onRoom(listener),
  };
}
