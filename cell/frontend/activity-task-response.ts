/** A started attempt of an activity as its worker gets it: from a poll, or with the completion that scheduled it (D7). */
import type { Response } from '../../wire/services.ts';
import { ACTIVITY_TASK_TOKEN, sealToken } from '../../wire/task-token.ts';
import { toDuration, toTimestamp } from '../../wire/time.ts';
import type { ActivityStartedReply } from '../history/decision.ts';
import { durationMs } from '../history/durations.ts';
import type { RunRef } from '../shard/engine.ts';
import type { AdmittedCall, FrontendParts } from './call.ts';

export function activityTaskResponse(
  parts: Pick<FrontendParts, 'tokens'>,
  started: { readonly run: RunRef; readonly reply: ActivityStartedReply },
  call: AdmittedCall,
): Response<'PollActivityTaskQueue'> {
  const { run, reply } = started;
  const { activity, scheduled } = reply;
  const { workflowId, runId } = run;
  const token = {
    ...run,
    scheduledEventId: activity.scheduledEventId,
    attempt: activity.attempt,
    activityId: scheduled.activityId ?? '',
    epoch: call.epoch,
    scheduledEpoch: reply.scheduledEpoch,
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
