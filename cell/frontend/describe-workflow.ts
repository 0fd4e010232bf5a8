/** DescribeWorkflowExecution: what a run is doing now, from its state (BEHAVIOURS 17). */
import { PendingActivityState, PendingWorkflowTaskState, TaskQueueKind } from '../../wire/enums.ts';
import type { Response } from '../../wire/services.ts';
import { durationMs, optionalTimestamp, toDuration, toTimestamp } from '../../wire/time.ts';
import type { PendingActivity, RunState } from '../history/state.ts';
import type { RunView } from '../shard/engine.ts';
import type { FrontendParts, Handlers } from './call.ts';
import { targetOf } from './validate/ids.ts';

type Description = Response<'DescribeWorkflowExecution'>;
type PendingActivityInfo = NonNullable<Description['pendingActivities']>[number];

export function describeWorkflowHandlers(parts: FrontendParts): Handlers {
  return {
    async DescribeWorkflowExecution(request, call) {
      const target = targetOf(call.namespaceId, request.execution);
      return describe(await parts.engine.read(target, call));
    },
  };
}

function describe(view: RunView): Description {
  const { state } = view;
  const { start } = state;
  const runExpiresAt = start.runTimeoutMs > 0 ? start.executionAt + start.runTimeoutMs : 0;
  return {
    executionConfig: {
      taskQueue: { name: start.taskQueue, kind: TaskQueueKind.Normal },
      workflowExecutionTimeout: toDuration(start.executionTimeoutMs),
      workflowRunTimeout: toDuration(start.runTimeoutMs),
      defaultWorkflowTaskTimeout: toDuration(start.taskTimeoutMs),
      userMetadata: start.userMetadata,
    },
    workflowExecutionInfo: executionInfo(state),
    pendingActivities: [...state.activities.values()].map(pendingActivity),
    pendingWorkflowTask: pendingWorkflowTask(view),
    workflowExtendedInfo: {
      executionExpirationTime: optionalTimestamp(start.executionExpiresAt),
      runExpirationTime: optionalTimestamp(runExpiresAt),
      cancelRequested: state.cancelRequested,
      originalStartTime: toTimestamp(start.startedAt),
    },
  };
}

function executionInfo(state: RunState): Description['workflowExecutionInfo'] {
  const { start, workflowId, runId, closedAt } = state;
  return {
    execution: { workflowId, runId },
    type: { name: start.workflowType },
    startTime: toTimestamp(start.startedAt),
    executionTime: toTimestamp(start.executionAt),
    closeTime: optionalTimestamp(closedAt),
    executionDuration:
      closedAt === undefined ? undefined : toDuration(closedAt - start.executionAt),
    status: state.status,
    historyLength: state.nextEventId - 1,
    historySizeBytes: state.historyBytes,
    stateTransitionCount: state.transition,
    memo: state.memo,
    searchAttributes: state.searchAttributes,
    taskQueue: start.taskQueue,
    rootExecution: { workflowId, runId: start.firstRunId },
    firstRunId: start.firstRunId,
    autoResetPoints: {},
  };
}

function pendingWorkflowTask({ state, start }: RunView): Description['pendingWorkflowTask'] {
  const task = state.workflowTask;
  if (task === undefined) return undefined;
  const started = task.started ?? start;
  return {
    state:
      started === undefined ? PendingWorkflowTaskState.Scheduled : PendingWorkflowTaskState.Started,
    scheduledTime: toTimestamp(task.scheduledAt),
    originalScheduledTime: toTimestamp(task.firstScheduledAt),
    startedTime: optionalTimestamp(started?.startedAt),
    attempt: task.attempt,
  };
}

function pendingActivity(activity: PendingActivity): PendingActivityInfo {
  const { scheduled, started, attempt } = activity;
  const scheduleToCloseMs = durationMs(scheduled.scheduleToCloseTimeout);
  const isRetry = attempt > 1 && started === undefined;
  return {
    activityId: scheduled.activityId,
    activityType: scheduled.activityType,
    state: activityState(activity),
    heartbeatDetails: activity.heartbeatDetails,
    lastHeartbeatTime: optionalTimestamp(activity.lastHeartbeatAt),
    lastStartedTime: optionalTimestamp(started?.at),
    attempt,
    maximumAttempts: scheduled.retryPolicy?.maximumAttempts,
    scheduledTime: started === undefined ? toTimestamp(activity.scheduledAt) : undefined,
    nextAttemptScheduleTime: isRetry ? toTimestamp(activity.scheduledAt) : undefined,
    expirationTime: optionalTimestamp(
      scheduleToCloseMs > 0 ? activity.firstScheduledAt + scheduleToCloseMs : 0,
    ),
    lastFailure: activity.lastFailure,
    lastWorkerIdentity: started?.identity ?? activity.lastIdentity,
    priority: scheduled.priority,
  };
}

function activityState(activity: PendingActivity): PendingActivityInfo['state'] {
  if (activity.cancelRequestedEventId > 0) return PendingActivityState.CancelRequested;
  return activity.started === undefined
    ? PendingActivityState.Scheduled
    : PendingActivityState.Started;
}
