/**
 * The contract's enums that the engine uses, as plain constants, so that pure code needs no protobuf library.
 * The numbers are the contract's own (`temporal.api.enums.v1`); enums.test.ts holds them against it.
 */

export const WorkflowExecutionStatus = {
  Unspecified: 0,
  Running: 1,
  Completed: 2,
  Failed: 3,
  Canceled: 4,
  Terminated: 5,
  ContinuedAsNew: 6,
  TimedOut: 7,
  Paused: 8,
} as const;
export type WorkflowExecutionStatus =
  (typeof WorkflowExecutionStatus)[keyof typeof WorkflowExecutionStatus];

export const WorkflowIdReusePolicy = {
  Unspecified: 0,
  AllowDuplicate: 1,
  AllowDuplicateFailedOnly: 2,
  RejectDuplicate: 3,
  TerminateIfRunning: 4,
} as const;
export type WorkflowIdReusePolicy =
  (typeof WorkflowIdReusePolicy)[keyof typeof WorkflowIdReusePolicy];

export const WorkflowIdConflictPolicy = {
  Unspecified: 0,
  Fail: 1,
  UseExisting: 2,
  TerminateExisting: 3,
} as const;
export type WorkflowIdConflictPolicy =
  (typeof WorkflowIdConflictPolicy)[keyof typeof WorkflowIdConflictPolicy];

export const WorkflowTaskFailedCause = {
  Unspecified: 0,
  UnhandledCommand: 1,
  BadScheduleActivityAttributes: 2,
  BadRequestCancelActivityAttributes: 3,
  BadStartTimerAttributes: 4,
  BadCancelTimerAttributes: 5,
  BadRecordMarkerAttributes: 6,
  BadCompleteWorkflowExecutionAttributes: 7,
  BadFailWorkflowExecutionAttributes: 8,
  BadCancelWorkflowExecutionAttributes: 9,
  BadRequestCancelExternalWorkflowExecutionAttributes: 10,
  BadContinueAsNewAttributes: 11,
  StartTimerDuplicateId: 12,
  ResetStickyTaskQueue: 13,
  WorkflowWorkerUnhandledFailure: 14,
  BadSignalWorkflowExecutionAttributes: 15,
  BadStartChildExecutionAttributes: 16,
  ForceCloseCommand: 17,
  FailoverCloseCommand: 18,
  BadSignalInputSize: 19,
  ResetWorkflow: 20,
  BadBinary: 21,
  ScheduleActivityDuplicateId: 22,
  BadSearchAttributes: 23,
  NonDeterministicError: 24,
  BadModifyWorkflowPropertiesAttributes: 25,
  PendingChildWorkflowsLimitExceeded: 26,
  PendingActivitiesLimitExceeded: 27,
  PendingSignalsLimitExceeded: 28,
  PendingRequestCancelLimitExceeded: 29,
  BadUpdateWorkflowExecutionMessage: 30,
  UnhandledUpdate: 31,
  BadScheduleNexusOperationAttributes: 32,
  PendingNexusOperationsLimitExceeded: 33,
  BadRequestCancelNexusOperationAttributes: 34,
  FeatureDisabled: 35,
  GrpcMessageTooLarge: 36,
  PayloadsTooLarge: 37,
  ExternalStorageFailure: 38,
  WorkflowPauseRequestedBeforeTaskStarted: 39,
  RequestTooLarge: 40,
} as const;
export type WorkflowTaskFailedCause =
  (typeof WorkflowTaskFailedCause)[keyof typeof WorkflowTaskFailedCause];

export const RetryState = {
  Unspecified: 0,
  InProgress: 1,
  NonRetryableFailure: 2,
  Timeout: 3,
  MaximumAttemptsReached: 4,
  RetryPolicyNotSet: 5,
  InternalServerError: 6,
  CancelRequested: 7,
} as const;
export type RetryState = (typeof RetryState)[keyof typeof RetryState];

export const TimeoutType = {
  Unspecified: 0,
  StartToClose: 1,
  ScheduleToStart: 2,
  ScheduleToClose: 3,
  Heartbeat: 4,
} as const;
export type TimeoutType = (typeof TimeoutType)[keyof typeof TimeoutType];

export const PendingActivityState = {
  Unspecified: 0,
  Scheduled: 1,
  Started: 2,
  CancelRequested: 3,
  Paused: 4,
  PauseRequested: 5,
} as const;
export type PendingActivityState = (typeof PendingActivityState)[keyof typeof PendingActivityState];

export const PendingWorkflowTaskState = {
  Unspecified: 0,
  Scheduled: 1,
  Started: 2,
} as const;
export type PendingWorkflowTaskState =
  (typeof PendingWorkflowTaskState)[keyof typeof PendingWorkflowTaskState];

export const HistoryEventFilterType = {
  Unspecified: 0,
  AllEvent: 1,
  CloseEvent: 2,
} as const;
export type HistoryEventFilterType =
  (typeof HistoryEventFilterType)[keyof typeof HistoryEventFilterType];

export const TaskQueueKind = {
  Unspecified: 0,
  Normal: 1,
  Sticky: 2,
  WorkerCommands: 3,
} as const;
export type TaskQueueKind = (typeof TaskQueueKind)[keyof typeof TaskQueueKind];

export const TaskQueueType = {
  Unspecified: 0,
  Workflow: 1,
  Activity: 2,
  Nexus: 3,
} as const;
export type TaskQueueType = (typeof TaskQueueType)[keyof typeof TaskQueueType];

export const QueryResultType = {
  Unspecified: 0,
  Answered: 1,
  Failed: 2,
} as const;
export type QueryResultType = (typeof QueryResultType)[keyof typeof QueryResultType];

export const QueryRejectCondition = {
  Unspecified: 0,
  None: 1,
  NotOpen: 2,
  NotCompletedCleanly: 3,
} as const;
export type QueryRejectCondition = (typeof QueryRejectCondition)[keyof typeof QueryRejectCondition];

export const ContinueAsNewInitiator = {
  Unspecified: 0,
  Workflow: 1,
  Retry: 2,
  CronSchedule: 3,
} as const;
export type ContinueAsNewInitiator =
  (typeof ContinueAsNewInitiator)[keyof typeof ContinueAsNewInitiator];

export const NamespaceState = {
  Unspecified: 0,
  Registered: 1,
  Deprecated: 2,
  Deleted: 3,
} as const;
export type NamespaceState = (typeof NamespaceState)[keyof typeof NamespaceState];

export const ResourceExhaustedCause = {
  Unspecified: 0,
  RpsLimit: 1,
  ConcurrentLimit: 2,
  SystemOverloaded: 3,
  PersistenceLimit: 4,
  BusyWorkflow: 5,
  ApsLimit: 6,
  PersistenceStorageLimit: 7,
  CircuitBreakerOpen: 8,
  OpsLimit: 9,
  WorkerDeploymentLimits: 10,
} as const;
export type ResourceExhaustedCause =
  (typeof ResourceExhaustedCause)[keyof typeof ResourceExhaustedCause];

export const ResourceExhaustedScope = {
  Unspecified: 0,
  Namespace: 1,
  System: 2,
} as const;
export type ResourceExhaustedScope =
  (typeof ResourceExhaustedScope)[keyof typeof ResourceExhaustedScope];

export const ParentClosePolicy = {
  Unspecified: 0,
  Terminate: 1,
  Abandon: 2,
  RequestCancel: 3,
} as const;
export type ParentClosePolicy = (typeof ParentClosePolicy)[keyof typeof ParentClosePolicy];

export const IndexedValueType = {
  Unspecified: 0,
  Text: 1,
  Keyword: 2,
  Int: 3,
  Double: 4,
  Bool: 5,
  Datetime: 6,
  KeywordList: 7,
} as const;
export type IndexedValueType = (typeof IndexedValueType)[keyof typeof IndexedValueType];

export const SuggestContinueAsNewReason = {
  Unspecified: 0,
  HistorySizeTooLarge: 1,
  TooManyHistoryEvents: 2,
  TooManyUpdates: 3,
} as const;
export type SuggestContinueAsNewReason =
  (typeof SuggestContinueAsNewReason)[keyof typeof SuggestContinueAsNewReason];

export const ArchivalState = {
  Unspecified: 0,
  Disabled: 1,
  Enabled: 2,
} as const;
export type ArchivalState = (typeof ArchivalState)[keyof typeof ArchivalState];
