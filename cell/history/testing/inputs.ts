/** Inputs and commands that tests of the core share, with defaults. */
import type { Command } from '../../../wire/events.ts';
import type { StartInput } from '../input.ts';

export function startInput(changed: Partial<StartInput> = {}): StartInput {
  return {
    kind: 'start',
    requestId: 'start-1',
    identity: 'client',
    workflowType: 'Order',
    taskQueue: 'orders',
    executionTimeoutMs: 0,
    runTimeoutMs: 0,
    taskTimeoutMs: 0,
    startDelayMs: 0,
    reusePolicy: 0,
    conflictPolicy: 0,
    ...changed,
  };
}

export const COMPLETE: Command = { kind: 'CompleteWorkflowExecution', attributes: {} };
export const CANCEL: Command = { kind: 'CancelWorkflowExecution', attributes: {} };

export function failWith(type: string, nonRetryable = false): Command {
  const failure = { message: type, applicationFailureInfo: { type, nonRetryable } };
  return { kind: 'FailWorkflowExecution', attributes: { failure } };
}

export function activity(activityId: string, attributes: object = {}): Command {
  return {
    kind: 'ScheduleActivityTask',
    attributes: {
      activityId,
      activityType: { name: 'Work' },
      taskQueue: { name: 'orders' },
      startToCloseTimeout: { seconds: 10, nanos: 0 },
      ...attributes,
    },
  };
}

export function cancelActivity(scheduledEventId: number): Command {
  return { kind: 'RequestCancelActivityTask', attributes: { scheduledEventId } };
}

export function startTimer(timerId: string, seconds: number): Command {
  return {
    kind: 'StartTimer',
    attributes: { timerId, startToFireTimeout: { seconds, nanos: 0 } },
  };
}

export function cancelTimer(timerId: string): Command {
  return { kind: 'CancelTimer', attributes: { timerId } };
}

export function marker(markerName: string): Command {
  return { kind: 'RecordMarker', attributes: { markerName } };
}
