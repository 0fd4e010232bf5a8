/**
 * Brings queries to workers (BEHAVIOURS 19): after a proof of ownership a query rides on the pending workflow task, or is
 * offered as a task of its own, first to the sticky queue of a worker that lives.
 *
 * Invariants
 *  1. A query sees every signal that was acknowledged before it came in: the proof begins after it came in (P13).
 *  2. It always ends: answered, rejected, or with an error that says why at its deadline.
 */
import type { Clock } from '../../kernel/clock.ts';
import { startDeadline } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { Rng } from '../../kernel/rng.ts';
import { QueryRejectCondition, WorkflowExecutionStatus } from '../../wire/enums.ts';
import type { RunState } from '../history/state.ts';
import type { Matching, OfferedTask } from '../matching/matching.ts';
import { orAborted } from './bounded.ts';
import type { CachedRun } from './cached.ts';
import type { ShardConfig } from './config.ts';
import type { CallContext, QueryOutcome, StartedTask, Target, WorkflowQuery } from './engine.ts';
import type { Ownership } from './ownership.ts';
import { RunQueries } from './run-queries.ts';

/** From this attempt on a workflow task counts as failing: queries are told so instead of waiting (BEHAVIOURS 19). */
const FAILING_ATTEMPT = 3;

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
    owned: Ownership,
    target: Target,
    asked: { readonly query: WorkflowQuery; readonly call: CallContext },
  ): Promise<QueryOutcome> {
    const { query, call } = asked;
    const { run } = await owned.find(target, call.signal);
    await owned.prove(run, call.signal);
    const state = run.committed ?? run.head;
    if (isRejected(state, query.rejectCondition)) return { kind: 'rejected', status: state.status };
    const refusal = notReady(state) ?? this.#noRoom(run);
    if (refusal) throw refusal;
    run.queries ??= new RunQueries();
    const id = this.#rng.uuid();
    const answer = run.queries.add(id, query);
    this.committed(owned, run);
    return this.#await(run, { id, answer, signal: call.signal });
  }

  /** After each commit of a run: queries without a workflow task to ride on are offered, those of a failing one are told. */
  committed(owned: Ownership, run: CachedRun): void {
    const { queries } = run;
    const state = run.committed;
    if (!queries?.busy || !state) return;
    const refusal = notReady(state);
    if (refusal) return queries.fail(refusal);
    if (state.workflowTask || owned.ended) return;
    for (const id of queries.toOffer()) this.#offer(run, state, id);
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
    if (this.#matching.offer(task) === 'full') {
      run.queries?.answer(queryId, {
        kind: 'failed',
        message: `task queue "${task.queue.name}" is full`,
      });
    } else if (useSticky) {
      // A sticky worker that does not come for it loses it to the normal queue.
      this.#clock.after(sticky.scheduleToStartMs, () => {
        if (run.queries?.stillOffered(queryId))
          this.#matching.offer({ ...task, queue: normalQueue });
      });
    }
  }

  async #await(
    run: CachedRun,
    waiting: {
      readonly id: string;
      readonly answer: Promise<QueryOutcome>;
      readonly signal: AbortSignal;
    },
  ): Promise<QueryOutcome> {
    const deadline = startDeadline(this.#clock, {
      what: 'the query',
      timeoutMs: this.#config.queryTimeoutMs,
      parent: waiting.signal,
    });
    try {
      return await orAborted(waiting.answer, deadline.signal);
    } catch (error) {
      if (!(error instanceof AtollError) || error.code !== 'deadline-exceeded') throw error;
      const queue = run.head.start.taskQueue;
      throw new AtollError(
        'deadline-exceeded',
        `nobody answered the query in time: is a worker polling task queue "${queue}"?`,
        { cause: error },
      );
    } finally {
      deadline.done();
      run.queries?.remove(waiting.id);
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
