/**
 * Brings queries to workers (BEHAVIOURS 19): after a proof of ownership a query rides on the pending workflow task, or is
 * offered as a task of its own, first to the sticky queue of a worker that lives.
 *
 * Invariants
 *  1. A query sees every signal that was acknowledged before it came in: the proof begins after it came in (P13).
 *  2. It always ends: answered, rejected, or with an error that says why at its deadline.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { withDeadline } from '../../../kernel/deadline.ts';
import { AtollError } from '../../../kernel/errors.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type { Rng } from '../../../kernel/rng.ts';
import { QueryRejectCondition, WorkflowExecutionStatus } from '../../../wire/enums.ts';
import type { RunState } from '../../history/state.ts';
import type { Matching, OfferedTask } from '../../matching/matching.ts';
import type { CachedRun } from './cached.ts';
import type { ShardConfig } from '../config.ts';
import type {
  CallContext,
  QueryAnswer,
  QueryOutcome,
  StartedTask,
  Target,
  WorkflowQuery,
} from '../engine.ts';
import { RunQueries } from './run-queries.ts';
import type { Found } from './shard-memory.ts';

/** What is asked of the ownership; its parts are described there. */
export interface QueriedShard {
  at<T>(target: Target, signal: AbortSignal, use: (found: Found) => T | Promise<T>): Promise<T>;
  prove(namespaceId: string, shown: Found, signal: AbortSignal): Promise<void>;
}

type Registered = {
  readonly run: CachedRun;
  readonly id: string;
  readonly answer: Promise<QueryAnswer>;
};
type Asked =
  | { readonly kind: 'rejected'; readonly status: number }
  | ({ readonly kind: 'registered' } & Registered);

/** From this attempt on a workflow task counts as failing: queries are told so instead of waiting (BEHAVIOURS 19). */
const FAILING_ATTEMPT = 3;
const CUT_OFF: ReadonlySet<number> = new Set([
  WorkflowExecutionStatus.Terminated,
  WorkflowExecutionStatus.TimedOut,
]);

export class QueryDesk {
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #matching: Matching;
  readonly #config: ShardConfig;

  constructor(options: {
    readonly clock: Clock;
    readonly rng: Rng;
    readonly matching: Matching;
    readonly config: ShardConfig;
  }) {
    this.#clock = options.clock;
    this.#rng = options.rng;
    this.#matching = options.matching;
    this.#config = options.config;
  }

  async query(
    owned: QueriedShard,
    target: Target,
    asked: { readonly query: WorkflowQuery; readonly call: CallContext },
  ): Promise<QueryOutcome> {
    const { query, call } = asked;
    const runId = await owned.at(target, call.signal, async (found) => {
      await owned.prove(target.namespaceId, found, call.signal);
      return found.run.ref.runId;
    });
    // Looked up again after the proof: the run that is asked must be the one that commits are told of.
    const registered = await owned.at({ ...target, runId }, call.signal, ({ run }) =>
      this.#register(run, query),
    );
    return registered.kind === 'rejected' ? registered : this.#await(registered, call.signal);
  }

  /** After each commit of a run: queries without a workflow task to ride on are offered, those of a failing one are told. */
  committed(run: CachedRun): void {
    const { queries } = run;
    const state = run.committed;
    if (!queries?.busy || !state) return;
    const refusal = notReady(state);
    if (refusal) return queries.fail(refusal);
    if (state.workflowTask) return;
    // Ends that no worker made: nobody will answer what rode on the task that they cut off.
    if (CUT_OFF.has(state.status)) queries.dismount();
    for (const id of queries.toOffer()) this.#offer(run, state, id);
  }

  /** A completed workflow task has given its answers: queries that rode on it without one go on waiting. */
  askAgain(run: CachedRun): void {
    if (!run.queries?.busy) return;
    run.queries.dismount();
    this.committed(run);
  }

  /** A poller took a query's own task. */
  take(
    run: CachedRun,
    task: OfferedTask,
  ): StartedTask | { readonly kind: 'taken'; readonly query: WorkflowQuery } {
    const id = task.queryId ?? '';
    if (run.committed?.workflowTask) {
      run.queries?.putBack(id);
      return { kind: 'obsolete' };
    }
    const query = run.queries?.take(id);
    return query ? { kind: 'taken', query } : { kind: 'obsolete' };
  }

  #register(run: CachedRun, query: WorkflowQuery): Asked {
    const state = run.committed;
    invariant(state !== undefined, `run ${run.ref.runId} is queried before its start is durable`);
    if (isRejected(state, query.rejectCondition)) return { kind: 'rejected', status: state.status };
    const refusal = notReady(state) ?? this.#noRoom(run);
    if (refusal) throw refusal;
    run.queries ??= new RunQueries();
    const id = this.#rng.uuid();
    const answer = run.queries.add(id, query);
    this.committed(run);
    return { kind: 'registered', run, id, answer };
  }

  #noRoom(run: CachedRun): AtollError | undefined {
    if ((run.queries?.size ?? 0) < this.#config.queryLimit) return undefined;
    return new AtollError(
      'resource-exhausted',
      `${this.#config.queryLimit} queries wait for workflow "${run.ref.workflowId}" (queryLimit): try again later`,
    );
  }

  #offer(run: CachedRun, state: RunState, queryId: string): void {
    const { namespaceId, workflowId, runId } = run.ref;
    const sticky = state.sticky;
    const stickyQueue = { namespaceId, kind: 'workflow', name: sticky?.queue ?? '' } as const;
    const useSticky = sticky !== undefined && this.#matching.isPolled(stickyQueue);
    const normalQueue = { namespaceId, kind: 'workflow', name: state.start.taskQueue } as const;
    const task: OfferedTask = {
      kind: 'query-task',
      queue: useSticky ? stickyQueue : normalQueue,
      workflowId,
      runId,
      scheduledEventId: 0,
      attempt: 1,
      scheduledAt: this.#clock.now(),
      queryId,
    };
    if (useSticky) {
      // A sticky worker that does not come for it loses it to the normal queue.
      this.#clock.after(sticky.scheduleToStartMs, () => {
        if (run.queries?.stillOffered(queryId))
          this.#hand(run, { ...task, queue: normalQueue }, queryId);
      });
    }
    this.#hand(run, task, queryId);
  }

  #hand(run: CachedRun, task: OfferedTask, queryId: string): void {
    if (this.#matching.offer(task) === 'accepted') return;
    const message = `task queue "${task.queue.name}" is full`;
    run.queries?.answer(queryId, { kind: 'failed', message });
  }

  async #await({ run, id, answer }: Registered, parent: AbortSignal): Promise<QueryOutcome> {
    const options = { what: 'the query', timeoutMs: this.#config.queryTimeoutMs, parent };
    try {
      return await withDeadline(this.#clock, options, () => answer);
    } catch (error) {
      if (!(error instanceof AtollError) || error.code !== 'deadline-exceeded') throw error;
      const queue = run.head.start.taskQueue;
      throw new AtollError(
        'deadline-exceeded',
        `nobody answered the query in time: is a worker polling task queue "${queue}"?`,
        { cause: error },
      );
    } finally {
      run.queries?.remove(id);
    }
  }
}

function isRejected(state: RunState, condition: number): boolean {
  const open = state.status === WorkflowExecutionStatus.Running;
  if (condition === QueryRejectCondition.NotOpen) return !open;
  return (
    condition === QueryRejectCondition.NotCompletedCleanly &&
    !open &&
    state.status !== WorkflowExecutionStatus.Completed
  );
}

/** Why nothing can answer now: the first task waits for its back-off, or tasks keep failing (BEHAVIOURS 11, 19). */
function notReady(state: RunState): AtollError | undefined {
  const failing = (state.workflowTask?.attempt ?? 1) >= FAILING_ATTEMPT;
  const waiting = state.firstTaskAt !== undefined;
  if (!failing && !waiting) return undefined;
  const why = failing
    ? 'its workflow task keeps failing'
    : 'its first workflow task waits for the start delay';
  return new AtollError(
    'failed-precondition',
    `workflow "${state.workflowId}" cannot answer queries now: ${why}`,
    {
      detail: { type: 'WorkflowNotReadyFailure', value: {} },
    },
  );
}
