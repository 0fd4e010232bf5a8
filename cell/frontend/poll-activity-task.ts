/** PollActivityTaskQueue: an attempt of an activity with all that its worker needs. */
import { invariant } from '../../kernel/invariant.ts';
import { activityTaskResponse } from './activity-task-response.ts';
import type { FrontendParts, Handlers } from './call.ts';
import { pollTask, queueOf } from './poll.ts';
import { optionalId } from './validate/ids.ts';

export function pollActivityTaskHandlers(parts: FrontendParts): Handlers {
  return {
    async PollActivityTaskQueue(request, call) {
      const queue = queueOf(call, 'activity', request.taskQueue);
      const identity = optionalId('Identity', request.identity);
      const polled = await pollTask(parts, { queue, identity }, call);
      if (polled === undefined) return {};
      const { task, started } = polled;
      invariant(started.kind === 'started', 'an activity queue holds no queries');
      const { reply } = started;
      invariant(reply.kind === 'activity-started', `a start was answered by ${reply.kind}`);
      const { workflowId, runId } = task;
      const run = { namespaceId: call.namespaceId, workflowId, runId };
      return activityTaskResponse(parts, { run, reply }, call);
    },
  };
}
