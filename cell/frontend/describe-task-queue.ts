/** DescribeTaskQueue: who polls a queue, and what waits in it. */
import { TaskQueueType } from '../../wire/enums.ts';
import { toDuration, toTimestamp } from '../../wire/time.ts';
import type { FrontendParts, Handlers } from './call.ts';
import { queueOf } from './poll.ts';
import { refuseUnsupported } from './validate/options.ts';

export function describeTaskQueueHandlers({ matching }: FrontendParts): Handlers {
  return {
    async DescribeTaskQueue(request, call) {
      refuseUnsupported('DescribeTaskQueue', {
        versions: request.versions,
        reportTaskReachability: request.reportTaskReachability,
      });
      const kind = request.taskQueueType === TaskQueueType.Activity ? 'activity' : 'workflow';
      const queue = queueOf(call, kind, request.taskQueue);
      const { tasks, oldestAgeMs } = matching.backlog(queue);
      return {
        pollers: matching.pollers(queue).map(({ identity, lastSeenAt }) => ({
          identity,
          lastAccessTime: toTimestamp(lastSeenAt),
        })),
        stats: {
          approximateBacklogCount: tasks,
          approximateBacklogAge: toDuration(oldestAgeMs),
        },
        taskQueueStatus: request.includeTaskQueueStatus ? { backlogCountHint: tasks } : undefined,
      };
    },
  };
}
