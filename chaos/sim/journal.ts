/**
 * What clients and workers saw, with virtual times: the only thing beside histories and the store's rows that a checker
 * may judge by. Times of calls are those of the asker: when he asked and when he heard.
 */
import type { HistoryEvent } from '../../wire/events.ts';

export type WriteKind = 'start' | 'signal' | 'cancel' | 'terminate';

/** An acknowledged write. */
export type AckedWrite = {
  readonly kind: WriteKind;
  readonly workflowId: string;
  readonly runId: string;
  readonly requestId: string;
  readonly ackedMs: number;
};

/** An acknowledged answer of a worker: to the workflow task that started with `eventId`, or to the activity of that id. */
export type AckedCompletion = {
  readonly kind: 'workflow-task' | 'activity';
  readonly workflowId: string;
  readonly runId: string;
  readonly eventId: number;
  readonly activityId: string;
  readonly ackedMs: number;
};

/** A workflow task whose answer was taken, and the history up to its start as the worker had been shown it. */
export type AnsweredTask = {
  readonly workflowId: string;
  readonly runId: string;
  readonly shown: readonly HistoryEvent[];
};

type Span = { readonly begunMs: number; readonly endedMs: number };

/** What a read showed. */
export type SeenRun = Span & {
  readonly by: 'describe' | 'history';
  readonly workflowId: string;
  readonly runId: string;
  readonly events: number;
  /** Only of a describe. */
  readonly transitions?: number;
  readonly closed: boolean;
};

/** An answered query: the signals that the worker had seen. */
export type SeenSignals = Span & {
  readonly workflowId: string;
  readonly runId: string;
  readonly signals: readonly string[];
};

/** Somebody was told that a run is not there, or is closed. */
export type SeenNothing = Span & {
  readonly by: string;
  readonly workflowId: string;
  readonly runId: string;
  /** A read says that there is no run; a write also says so of a closed one. */
  readonly isRead: boolean;
};

/** A task in a worker's hand, and when it heard of it. */
export type SeenTask = {
  readonly workflowId: string;
  readonly runId: string;
  readonly heardMs: number;
  readonly task:
    | {
        readonly kind: 'workflow-task';
        /** The last event that it shows and that history must hold: what is made up for a task comes after it. */
        readonly events: number;
      }
    | { readonly kind: 'activity'; readonly activityId: string; readonly attempt: number };
};

/** A task of an activity of one attempt in a worker's hand. */
export type Delivery = { readonly runId: string; readonly activityId: string };

export class Journal {
  readonly writes: AckedWrite[] = [];
  readonly completions: AckedCompletion[] = [];
  readonly answered: AnsweredTask[] = [];
  readonly runs: SeenRun[] = [];
  readonly queries: SeenSignals[] = [];
  readonly nothing: SeenNothing[] = [];
  readonly tasks: SeenTask[] = [];
  readonly deliveries: Delivery[] = [];
  /** Answers that no cell may give, such as an internal error. */
  readonly breaches: string[] = [];
}
