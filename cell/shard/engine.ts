/**
 * The face of the shards to the cell's frontend: one object that finds the owner of a workflow id and asks it.
 * Every answer keeps output commit (P1) and the read barrier (P13): it never says more than what is durable and current.
 *
 * Errors: `unavailable` when the shard is not owned here or its storage is away; `resource-exhausted` when its tail or
 * queue is full; `not-found` for an unknown execution; what `decide` refuses.
 */
import type { BranchPoint, Lineage } from '../history/lineage.ts';
import type { ExecutionState, RunState, TaskStart } from '../history/state.ts';
import type { Reply } from '../history/decision.ts';
import type { RunInput, StartInput, TaskTaker } from '../history/input.ts';
import type { Header, Payloads, Failure } from '../../wire/plain.ts';
import type { OfferedTask } from '../matching/matching.ts';

/** One call's circumstances: ends with its deadline or its client; `epoch` = the namespace's epoch by the cell's map. */
export type CallContext = { readonly signal: AbortSignal; readonly epoch: number };

/** An execution as a request names it; without `runId` the current run is meant. */
export type Target = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId?: string | undefined;
};
export type RunRef = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
};

export type RunView = {
  readonly state: RunState;
  readonly start?: TaskStart | undefined;
  readonly execution: ExecutionState;
};

/** Events that are asked for; none after `toEventId`, and at most about `maxBytes` (at least one event if any). */
export type HistoryRange = {
  readonly fromEventId: number;
  readonly toEventId: number;
  readonly maxBytes: number;
  /** Only from a branch that has this point: events that go on with others, or end with one that was named before. */
  readonly branch?: BranchPoint | undefined;
};

/** Encoded events `from … to` (inclusive), as concatenated `History.events` entries; several chunks, in order. */
export type HistoryPage = {
  readonly chunks: readonly Uint8Array[];
  readonly fromEventId: number;
  /** The last event id in the page; `fromEventId - 1` when the page is empty. */
  readonly toEventId: number;
};

/** Stored events, and the branch that they are of. */
export type BranchPage = HistoryPage & { readonly lineage: Lineage };

export type WorkflowQuery = {
  readonly queryType: string;
  readonly args?: Payloads | undefined;
  readonly header?: Header | undefined;
  /** QueryRejectCondition of the contract. */
  readonly rejectCondition: number;
};
export type QueryAnswer =
  | { readonly kind: 'answered'; readonly result?: Payloads | undefined }
  | { readonly kind: 'failed'; readonly message: string; readonly failure?: Failure | undefined };
export type QueryOutcome = QueryAnswer | { readonly kind: 'rejected'; readonly status: number };

/** A task in a poller's hand, started. */
export type StartedTask =
  | { readonly kind: 'obsolete' }
  | {
      readonly kind: 'started';
      readonly reply: Reply;
      /** Queries that ride on a workflow task, by their id. */
      readonly queries: ReadonlyMap<string, WorkflowQuery>;
    }
  /** A query task of its own: the run as it is and the one query. */
  | { readonly kind: 'query'; readonly view: RunView; readonly query: WorkflowQuery };

export interface Engine {
  start(target: Target, input: StartInput, call: CallContext): Promise<Reply>;

  /** Asks one run; answers with the run that took it. */
  execute(
    target: Target,
    input: RunInput,
    call: CallContext,
  ): Promise<{ readonly runId: string; readonly reply: Reply }>;

  /** The run as of a moment after the call came in. */
  read(target: Target, call: CallContext): Promise<RunView>;

  /** Errors: `invalid-argument` if the run's branch has not the point asked for. */
  history(run: RunRef, range: HistoryRange, call: CallContext): Promise<BranchPage>;

  /** Resolves once the run has a committed event above `afterEventId` or is closed; rejects when the call ends. */
  waitForEvents(run: RunRef, afterEventId: number, call: CallContext): Promise<void>;

  /** Refuses unless the namespace acts here: for polls, before they wait. Errors: `unavailable` with trailers. */
  assertActing(namespaceId: string): void;

  /** A task that matching handed out: starts it for this poller. */
  startTask(task: OfferedTask, poller: TaskTaker, call: CallContext): Promise<StartedTask>;

  query(target: Target, query: WorkflowQuery, call: CallContext): Promise<QueryOutcome>;

  /** Answers of a worker: of a query task, or those that came with a completed workflow task. Unknown ids are ignored. */
  answerQuery(run: RunRef, queryId: string, answer: QueryAnswer): void;

  /** The completion of a workflow task gave all its answers: what rode on it without one is asked again. */
  askAgain(run: RunRef): void;
}
