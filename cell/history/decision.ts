/**
 * What `decide` answers: transitions to append, an answer that changes nothing, or a refusal. The shell commits,
 * waits (output commit, read barrier), then hands out the reply.
 */
import type { AtollError } from '../../kernel/errors.ts';
import type { EventAttributes, HistoryEvent } from '../../wire/events.ts';
import type { BranchPoint } from './lineage.ts';
import type { WorkflowTaskFailedCause } from '../../wire/enums.ts';
import type { Payloads } from '../../wire/plain.ts';
import type {
  EpochMs,
  ExecutionState,
  Ledger,
  PendingActivity,
  RunState,
  TaskStart,
} from './state.ts';
import type { Transition } from './transition.ts';

/** What the deciding shell knows beside the state. */
export type DecideContext = {
  /** max(own clock, the shard's last record, the run's last event) (D16); the shell has done the max. */
  readonly now: EpochMs;
  /** The namespace's epoch as this cell knows it. */
  readonly epoch: number;
  /** A fresh run id, for a start or a retry; used at most once. */
  readonly freshRunId: string;
  /** The ledger of the run's workflow id: remembered request ids (D15). */
  readonly ledger: Ledger;
  readonly limits: HistoryLimits;
};

/** Limits of one run (DESIGN 3, BEHAVIOURS 6, 24). */
export type HistoryLimits = {
  /** From here on workers are told to continue as new. */
  readonly suggestContinueAsNewEvents: number;
  /** At this many events the run takes no more commands: it is terminated by the caller or waits. */
  readonly maximumEvents: number;
  readonly maximumHistoryBytes: number;
  readonly suggestContinueAsNewBytes: number;
  readonly maximumBufferedEvents: number;
  readonly maximumPendingActivities: number;
  readonly maximumPendingTimers: number;
  readonly maximumSignals: number;
};

export const defaultHistoryLimits: HistoryLimits = {
  suggestContinueAsNewEvents: 4_096,
  maximumEvents: 51_200,
  maximumHistoryBytes: 50 * 1024 * 1024,
  suggestContinueAsNewBytes: 4 * 1024 * 1024,
  maximumBufferedEvents: 100,
  maximumPendingActivities: 2_000,
  maximumPendingTimers: 10_000,
  maximumSignals: 10_000,
};

/** A run as the shell holds it: its state and, beside it, a start that no record carries yet (D7). */
export type LiveRun = { readonly state: RunState; readonly start?: TaskStart | undefined };

/** One transition and the state after it. */
export type Step = { readonly transition: Transition; readonly state: RunState };

export type Decision =
  /** Append all steps in one record; the reply waits for the commit. `start`: the live start after the steps, of the run decided on. */
  | {
      readonly kind: 'commit';
      readonly steps: readonly [Step, ...Step[]];
      readonly start?: TaskStart | undefined;
      readonly reply: Reply;
    }
  /** Only memory changes: a workflow task was started (D7). The reply waits for the state it shows to be committed. */
  | { readonly kind: 'start'; readonly start: TaskStart; readonly reply: Reply }
  /** Nothing changes: the reply needs proof of ownership (PROTOCOLS 4). */
  | { readonly kind: 'answer'; readonly reply: Reply }
  /** Nothing changes and the caller is told why: needs the same proof. */
  | { readonly kind: 'refuse'; readonly error: AtollError };

export type Reply =
  | { readonly kind: 'done' }
  /** The input came too late or twice; nothing to do (due clocks, starts of tasks that are gone). */
  | { readonly kind: 'obsolete' }
  | {
      readonly kind: 'started';
      readonly runId: string;
      /** The request started that run, now or when it came first; false for a run that it found, or that another followed. */
      readonly fresh: boolean;
      /** WorkflowExecutionStatus of that run; 0 where it is not the current one. */
      readonly status: number;
      /** The first task, started for a caller that asked for it (eager start). */
      readonly task?: WorkflowTaskStartedReply | undefined;
    }
  | WorkflowTaskStartedReply
  | {
      readonly kind: 'workflow-task-completed';
      readonly closed: boolean;
      readonly newTask: boolean;
      /** The next task, started for a caller that asked for it. */
      readonly task?: WorkflowTaskStartedReply | undefined;
      /** Activities of this task, started for the polls that came with its completion. */
      readonly activities?: readonly ActivityStartedReply[] | undefined;
    }
  /** The completion was recorded as a failure of the task (BEHAVIOURS 3, 6): the worker gets `invalid-argument`. */
  | {
      readonly kind: 'workflow-task-rejected';
      readonly cause: WorkflowTaskFailedCause;
      readonly message: string;
    }
  | ActivityStartedReply
  | { readonly kind: 'heartbeat'; readonly cancelRequested: boolean };

export type WorkflowTaskStartedReply = {
  readonly kind: 'workflow-task-started';
  readonly start: TaskStart;
  readonly scheduledAt: EpochMs;
  readonly workflowType: string;
  readonly taskQueue: string;
  readonly previousStartedEventId: number;
  /** Stored history ends with this event; the worker sees events up to it, then `virtualEvents`. */
  readonly lastStoredEventId: number;
  /** The branch, by that event. */
  readonly branch: BranchPoint | undefined;
  /** Events that the worker sees though history does not hold them (BEHAVIOURS 4, D7). */
  readonly virtualEvents: readonly HistoryEvent[];
};

export type ActivityStartedReply = {
  readonly kind: 'activity-started';
  readonly activity: PendingActivity;
  readonly scheduled: EventAttributes<'ActivityTaskScheduled'>;
  /** The epoch of the event that scheduled it. */
  readonly scheduledEpoch: number;
  readonly startedAt: EpochMs;
  readonly workflowType: string;
  readonly heartbeatDetails?: Payloads | undefined;
};

/** Scope of a start: the workflow id as it is, and its current run where that is open. */
export type StartScope = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly execution?: ExecutionState | undefined;
  /** Loaded when `execution.current` is open. */
  readonly current?: LiveRun | undefined;
};
