/**
 * Everything that can be asked of a run or a workflow id, as data. The frontend makes inputs from RPCs, the shard
 * makes them from due clocks; `decide` answers each (decision.ts). Durations in ms, 0 = unset.
 */
import type { EpochMs } from './state.ts';
import type { Command } from '../../wire/events.ts';
import type {
  Failure,
  Header,
  Link,
  Memo,
  Payloads,
  Priority,
  RetryPolicy,
  SearchAttributes,
  UserMetadata,
} from '../../wire/plain.ts';
import type {
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowTaskFailedCause,
} from '../../wire/enums.ts';

export type SignalFields = {
  /** Empty = not de-duplicated. */
  readonly requestId: string;
  readonly name: string;
  readonly input?: Payloads | undefined;
  readonly header?: Header | undefined;
  readonly identity: string;
  readonly links?: readonly Link[] | undefined;
};

/** Starts a run of a workflow id; with `signal`, signal-with-start. Decided by `decideStart`. */
export type StartInput = {
  readonly kind: 'start';
  readonly requestId: string;
  readonly identity: string;
  readonly workflowType: string;
  readonly taskQueue: string;
  readonly input?: Payloads | undefined;
  readonly header?: Header | undefined;
  readonly memo?: Memo | undefined;
  readonly searchAttributes?: SearchAttributes | undefined;
  readonly executionTimeoutMs: number;
  readonly runTimeoutMs: number;
  readonly taskTimeoutMs: number;
  readonly startDelayMs: number;
  readonly retryPolicy?: RetryPolicy | undefined;
  readonly reusePolicy: WorkflowIdReusePolicy;
  readonly conflictPolicy: WorkflowIdConflictPolicy;
  readonly userMetadata?: UserMetadata | undefined;
  readonly links?: readonly Link[] | undefined;
  readonly priority?: Priority | undefined;
  readonly signal?: SignalFields | undefined;
  /** Eager start: the first workflow task is started for the caller at once (D7), if nothing delays it. */
  readonly eagerTask?: TaskTaker | undefined;
};

/** Who takes a task that a decision starts, as a poll with this request id would (D7): the caller, or a poll that waits. */
export type TaskTaker = { readonly requestId: string; readonly identity: string };

/** What a workflow-task token says (PROTOCOLS 6). */
export type WorkflowTaskClaim = {
  readonly scheduledEventId: number;
  readonly startedEventId: number;
  readonly attempt: number;
  readonly startedAt: EpochMs;
  readonly requestId: string;
  readonly historyBytes: number;
  readonly suggestContinueAsNew: boolean;
  readonly epoch: number;
  /** The epoch of the last event that the worker was shown; absent: not known. */
  readonly branchEpoch?: number | undefined;
};

/** What an activity token says. `attempt` 0 = by id, any attempt. */
export type ActivityClaim = {
  /** 0 = found by activity id. */
  readonly scheduledEventId: number;
  readonly activityId: string;
  readonly attempt: number;
  /** The epoch of that event; absent: by id, or not known. */
  readonly scheduledEpoch?: number | undefined;
};

/** What can be asked of one run. Decided by `decide`. */
export type RunInput =
  | ({ readonly kind: 'signal' } & SignalFields)
  | {
      readonly kind: 'request-cancel';
      readonly requestId: string;
      readonly reason: string;
      readonly identity: string;
    }
  | {
      readonly kind: 'terminate';
      readonly reason: string;
      readonly identity: string;
      readonly details?: Payloads | undefined;
    }
  /** A poller has the task in hand: start it, in memory only (D7). */
  | {
      readonly kind: 'start-workflow-task';
      readonly scheduledEventId: number;
      readonly attempt: number;
      readonly requestId: string;
      readonly identity: string;
    }
  | {
      readonly kind: 'complete-workflow-task';
      readonly claim: WorkflowTaskClaim;
      readonly identity: string;
      readonly commands: readonly Command[];
      readonly sticky?: { readonly queue: string; readonly scheduleToStartMs: number } | undefined;
      /** Local-activity heartbeat: a new task is scheduled at once (BEHAVIOURS 7). */
      readonly forceNewTask: boolean;
      /** Start the next task, if there is one, for the caller; without it matching offers the task. */
      readonly nextTask?: TaskTaker | undefined;
      /**
       * Who takes an activity, by the index of the command that schedules it: started in the same transition (D7), each
       * under a request id of its own. Matching offers the others.
       */
      readonly activityPolls?: ReadonlyMap<number, TaskTaker> | undefined;
      readonly sdkMetadata?: object | undefined;
      readonly meteringMetadata?: object | undefined;
      readonly workerVersion?: object | undefined;
      readonly binaryChecksum: string;
    }
  | {
      readonly kind: 'fail-workflow-task';
      readonly claim: WorkflowTaskClaim;
      readonly cause: WorkflowTaskFailedCause;
      readonly failure?: Failure | undefined;
      readonly identity: string;
      readonly binaryChecksum: string;
    }
  | {
      readonly kind: 'start-activity';
      readonly scheduledEventId: number;
      readonly attempt: number;
      readonly requestId: string;
      readonly identity: string;
    }
  | {
      readonly kind: 'complete-activity';
      readonly claim: ActivityClaim;
      readonly result?: Payloads | undefined;
      readonly identity: string;
    }
  | {
      readonly kind: 'fail-activity';
      readonly claim: ActivityClaim;
      readonly failure?: Failure | undefined;
      readonly lastHeartbeatDetails?: Payloads | undefined;
      readonly identity: string;
    }
  | {
      readonly kind: 'cancel-activity';
      readonly claim: ActivityClaim;
      readonly details?: Payloads | undefined;
      readonly identity: string;
    }
  | {
      readonly kind: 'heartbeat-activity';
      readonly claim: ActivityClaim;
      readonly details?: Payloads | undefined;
      readonly identity: string;
    }
  /** A clock of `pendingWork` (its `key`) is due. Obsolete ones are answered `obsolete`. */
  | { readonly kind: 'timer-due'; readonly key: string }
  /** The sticky worker is gone or silent: the pending task goes to the normal queue, without an event (BEHAVIOURS 5). */
  | { readonly kind: 'sticky-gone' }
  /** The namespace became active here: a durable start of an older epoch is over (BEHAVIOURS 26). */
  | { readonly kind: 'fail-over' }
  /** Nobody owned the shard for a while: one full heartbeat interval from now (PROTOCOLS 2.5). */
  | { readonly kind: 'grant-heartbeats' };
