/** PollActivityTaskQueue: an attempt of an activity with all that its worker needs. */
import { invariant } from '../../kernel/invariant.ts';
import type { Response } from '../../wire/services.ts';
import { ACTIVITY_TASK_TOKEN, sealToken } from '../../wire/task-token.ts';
import { toDuration, toTimestamp } from '../../wire/time.ts';
import { durationMs } from '../history/durations.ts';
import type { ActivityStartedReply } from '../history/decision.ts';
import type { OfferedTask } from '../matching/matching.ts';
import type { AdmittedCall, FrontendParts, Handlers } from './call.ts';
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
      return activityTask(parts, { task, reply }, call);
    },
  };
}

function activityTask(
  parts: Pick<FrontendParts, 'tokens'>,
  hand: { readonly task: OfferedTask; readonly reply: ActivityStartedReply },
  call: AdmittedCall,
): Response<'PollActivityTaskQueue'> {
  const { task, reply } = hand;
  const { activity, scheduled } = reply;
  const { workflowId, runId } = task;
  const token = {
    namespaceId: call.namespaceId,
    workflowId,
    runId,
    scheduledEventId: activity.scheduledEventId,
    attempt: activity.attempt,
    activityId: scheduled.activityId ?? '',
    epoch: call.epoch,
  };
  return {
    taskToken: sealToken(parts.tokens, ACTIVITY_TASK_TOKEN, token),
    workflowNamespace: call.namespace,
    workflowType: { name: reply.workflowType },
    workflowExecution: { workflowId, runId },
    activityType: scheduled.activityType,
    activityId: scheduled.activityId,
    header: scheduled.header,
    input: scheduled.input,
    heartbeatDetails: reply.heartbeatDetails,
    scheduledTime: toTimestamp(activity.firstScheduledAt),
    currentAttemptScheduledTime: toTimestamp(activity.scheduledAt),
    startedTime: toTimestamp(reply.startedAt),
    attempt: activity.attempt,
    // SDKs demand all three, also where they are zero.
    scheduleToCloseTimeout: toDuration(durationMs(scheduled.scheduleToCloseTimeout)),
    startToCloseTimeout: toDuration(durationMs(scheduled.startToCloseTimeout)),
    heartbeatTimeout: toDuration(durationMs(scheduled.heartbeatTimeout)),
    retryPolicy: scheduled.retryPolicy,
    priority: scheduled.priority,
  };
}
