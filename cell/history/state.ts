/**
 * The state of a run and of a workflow id: what `apply` folds events and patches into (D4). Plain data, immutable:
 * a transition makes a new state and shares what it did not touch, so the last committed state can be kept beside
 * the newest one (output commit, checkpoints).
 *
 * State codec: state-codec.ts, whose first byte is the format version (D17).
 */
import type { CurrentRun, LedgerEntry } from './execution.ts';
import type { Lineage } from './lineage.ts';
import type { EventKind } from '../../wire/event-kinds.ts';
import type { EventAttributes, EventOf } from '../../wire/events.ts';
import type {
  Failure,
  Memo,
  Payloads,
  RetryPolicy,
  SearchAttributes,
  UserMetadata,
} from '../../wire/plain.ts';
import type { WorkflowExecutionStatus } from '../../wire/enums.ts';

/** Milliseconds since 1970-01-01 UTC. */
export type EpochMs = number;

export type RunState = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
  /** How many transitions made this state; the next one is number `transition + 1` (PROTOCOLS 7). */
  readonly transition: number;
  /** The epoch of the last transition. */
  readonly epoch: number;
  /** The branch that this state is the end of: by epoch, its last transition and event (lineage.ts). */
  readonly lineage: Lineage;
  readonly nextEventId: number;
  /**
   * Encoded size of the whole history, in bytes (limits, BEHAVIOURS 24). Only the shell knows encoded sizes: it adds
   * those of a transition's events after `decide` and after `apply`, which leave this field alone.
   */
  readonly historyBytes: number;
  /** Time of the last transition: history never goes back (D16). */
  readonly lastAt: EpochMs;
  readonly status: WorkflowExecutionStatus;
  readonly closedAt?: EpochMs | undefined;
  readonly start: RunStart;
  readonly memo?: Memo | undefined;
  readonly searchAttributes?: SearchAttributes | undefined;
  readonly workflowTask?: PendingWorkflowTask | undefined;
  /** Where the next workflow task goes first, while its worker lives. */
  readonly sticky?: { readonly queue: string; readonly scheduleToStartMs: number } | undefined;
  /** Started event id of the last completed workflow task; 0 = none. `previous_started_event_id` of a poll response. */
  readonly lastCompletedStartedEventId: number;
  /** Pending activities by scheduled event id, in order of scheduling. */
  readonly activities: ReadonlyMap<number, PendingActivity>;
  /** Pending timers by timer id, in order of starting. */
  readonly timers: ReadonlyMap<string, PendingTimer>;
  /** Events that came while a durable workflow-task start was open; they get their ids when flushed (BEHAVIOURS 2). */
  readonly buffered: readonly BufferedEvent[];
  readonly cancelRequested: boolean;
  readonly signalCount: number;
  /** While set, the first workflow task waits for this time (start delay, retry back-off; BEHAVIOURS 11). */
  readonly firstTaskAt?: EpochMs | undefined;
};

/** What a run was started with and must remember. */
export type RunStart = {
  readonly workflowType: string;
  readonly taskQueue: string;
  /** Request id of the start that made the chain (patch `start-request`). */
  readonly requestId: string;
  readonly firstRunId: string;
  readonly continuedRunId: string;
  readonly attempt: number;
  readonly startedAt: EpochMs;
  /** startedAt + back-off of the first workflow task: ExecutionTime of visibility. */
  readonly executionAt: EpochMs;
  readonly executionTimeoutMs: number;
  readonly runTimeoutMs: number;
  readonly taskTimeoutMs: number;
  /** 0 = none. The chain's own end, which retries inherit. */
  readonly executionExpiresAt: EpochMs;
  readonly retryPolicy?: RetryPolicy | undefined;
  /** Summary and details that its starter gave it, for people. */
  readonly userMetadata?: UserMetadata | undefined;
  /** The started event's attributes, kept only where a retry will need them (retryPolicy present). */
  readonly forRetry?: EventAttributes<'WorkflowExecutionStarted'> | undefined;
};

/** A scheduled workflow task. `started` is set only when the start is durable (D7, PROTOCOLS 6). */
export type PendingWorkflowTask = {
  /** Real event id, or for a transient attempt the id that its scheduled event would get: `nextEventId`. */
  readonly scheduledEventId: number;
  readonly attempt: number;
  /** A transient attempt (2 and later): its scheduled and started events are not in the history (BEHAVIOURS 4). */
  readonly transient: boolean;
  readonly scheduledAt: EpochMs;
  /** Time of scheduling of the first task in a chain of heartbeats (BEHAVIOURS 7): the heartbeats' limit counts from it. */
  readonly firstScheduledAt: EpochMs;
  /** Not offered before this time: back-off after failures; 0 = at once. */
  readonly notBefore: EpochMs;
  /** Scheduled for the sticky queue, and to which. */
  readonly stickyQueue?: string | undefined;
  readonly started?: TaskStart | undefined;
};

/** A start of a workflow task: memory only until a record carries it (D7). What the worker was shown. */
export type TaskStart = {
  readonly scheduledEventId: number;
  readonly startedEventId: number;
  readonly attempt: number;
  readonly startedAt: EpochMs;
  /** The poll's request id. */
  readonly requestId: string;
  readonly identity: string;
  readonly historyBytes: number;
  readonly suggestContinueAsNew: boolean;
  /** The epoch under which it was started (PROTOCOLS 6). */
  readonly epoch: number;
};

export type PendingActivity = {
  readonly scheduledEventId: number;
  /** All that a worker and a retry need: type, queue, input, header, timeouts, retry policy. */
  readonly scheduled: EventAttributes<'ActivityTaskScheduled'>;
  /** Time of ActivityTaskScheduled. */
  readonly firstScheduledAt: EpochMs;
  /** From 1. */
  readonly attempt: number;
  /** When this attempt may be offered: firstScheduledAt, or the end of its back-off. */
  readonly scheduledAt: EpochMs;
  readonly started?:
    | {
        readonly at: EpochMs;
        readonly requestId: string;
        readonly identity: string;
        readonly epoch: number;
      }
    | undefined;
  readonly lastHeartbeatAt?: EpochMs | undefined;
  readonly heartbeatDetails?: Payloads | undefined;
  readonly lastFailure?: Failure | undefined;
  readonly lastIdentity?: string | undefined;
  /** Event id of ActivityTaskCancelRequested; 0 = none. */
  readonly cancelRequestedEventId: number;
};

export type PendingTimer = {
  readonly timerId: string;
  readonly startedEventId: number;
  readonly dueAt: EpochMs;
};

/** An event that waits for its id: `HistoryEvent` less eventId (and ids inside that are only known at flush = 0). */
export type BufferedEvent = { [K in EventKind]: Omit<EventOf<K>, 'eventId'> }[EventKind];

/** A workflow id: the pointer to its current run and its ledger of requests (D15). */
export type ExecutionState = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly current: CurrentRun;
  readonly ledger: Ledger;
};

/** Lookup of remembered requests; the shell owns its memory and its rows. */
export interface Ledger {
  find(requestId: string): LedgerEntry | undefined;
}
