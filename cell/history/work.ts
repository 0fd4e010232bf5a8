/**
 * Pending work (D5, PROTOCOLS 5): what must happen next outside the run, derived from its state alone. `key` is unique
 * within the run and stable while the need is the same; the shell compares the work before and after a transition.
 */
import type { EpochMs } from './state.ts';

export type Work =
  /** Offer a workflow task to matching once `notBefore` has come. Key `w:<scheduledEventId>:<attempt>[:s]`. */
  | {
      readonly kind: 'workflow-task';
      readonly key: string;
      readonly taskQueue: string;
      /** Offer here first, if its worker lives; else input `sticky-gone`. */
      readonly stickyQueue?: string | undefined;
      readonly scheduledEventId: number;
      readonly attempt: number;
      readonly scheduledAt: EpochMs;
      readonly notBefore: EpochMs;
    }
  /** Offer an activity task once `notBefore` has come. Key `a:<scheduledEventId>:<attempt>`. */
  | {
      readonly kind: 'activity-task';
      readonly key: string;
      readonly taskQueue: string;
      readonly scheduledEventId: number;
      readonly attempt: number;
      readonly scheduledAt: EpochMs;
      readonly notBefore: EpochMs;
    }
  /** Send input `timer-due` with this key at `dueAt` or later. */
  | { readonly kind: 'timer'; readonly key: string; readonly dueAt: EpochMs };

/** What visibility shows of a run (D5). `version` is the transition number: rows converge to the largest. */
export type IndexRow = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly version: number;
  readonly workflowType: string;
  readonly taskQueue: string;
  readonly status: number;
  readonly startedAt: EpochMs;
  readonly executionAt: EpochMs;
  readonly closedAt?: EpochMs | undefined;
  readonly historyLength: number;
  readonly historyBytes: number;
  readonly firstRunId: string;
  /** Encoded `Memo` and `SearchAttributes` plain data, as the state holds them. */
  readonly memo?: unknown;
  readonly searchAttributes?: unknown;
};
