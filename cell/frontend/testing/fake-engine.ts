/**
 * An engine that records what it is asked and answers what a test sets: handlers without shards.
 * Runs are kept by run id; `history` serves one small event an id.
 */
import { AtollError } from '../../../kernel/errors.ts';
import { encodeEvents } from '../../../wire/event-codec.ts';
import type { Reply } from '../../history/decision.ts';
import { assertOnBranch } from '../../history/lineage.ts';
import type { RunInput, StartInput } from '../../history/input.ts';
import type { RunState } from '../../history/state.ts';
import type { OfferedTask } from '../../matching/matching.ts';
import type {
  BranchPage,
  CallContext,
  Engine,
  HistoryRange,
  QueryAnswer,
  QueryOutcome,
  RunRef,
  RunView,
  StartedTask,
  Target,
  WorkflowQuery,
} from '../../shard/engine.ts';

export type Asked = {
  readonly target: Target;
  readonly input: StartInput | RunInput;
  readonly epoch: number;
};

export class FakeEngine implements Engine {
  /** Starts and inputs, in order. */
  readonly asked: Asked[] = [];
  readonly startedTasks: { readonly task: OfferedTask; readonly requestId: string }[] = [];
  readonly answers: {
    readonly run: RunRef;
    readonly queryId: string;
    readonly answer: QueryAnswer;
  }[] = [];
  readonly runs = new Map<string, RunState>();
  /** Events of a page, whatever `maxBytes` says. */
  eventsPerPage = 1_000;
  reply: () => Promise<Reply> = () => Promise.resolve({ kind: 'done' });
  onStartTask: (task: OfferedTask) => Promise<StartedTask> = () =>
    Promise.resolve({ kind: 'obsolete' });
  onQuery: (query: WorkflowQuery, call: CallContext) => Promise<QueryOutcome> = () =>
    Promise.resolve({ kind: 'answered' });
  readonly #waiting = new Set<() => void>();

  /** Every namespace acts here. */
  assertActing(): void {}

  /** Shows a run, or its newer state, and wakes those who wait for events. */
  show(state: RunState): void {
    this.runs.set(state.runId, state);
    for (const wake of [...this.#waiting]) wake();
  }

  start(target: Target, input: StartInput, call: CallContext): Promise<Reply> {
    this.asked.push({ target, input, epoch: call.epoch });
    return this.reply();
  }

  async execute(target: Target, input: RunInput, call: CallContext) {
    this.asked.push({ target, input, epoch: call.epoch });
    return { runId: target.runId ?? '', reply: await this.reply() };
  }

  async read(target: Target, _call: CallContext): Promise<RunView> {
    const state = [...this.runs.values()]
      .reverse()
      .find(
        (run) => run.workflowId === target.workflowId && run.runId === (target.runId ?? run.runId),
      );
    if (state === undefined || state.namespaceId !== target.namespaceId) {
      throw new AtollError('not-found', `workflow ${target.workflowId} is not found`);
    }
    const { namespaceId, workflowId, runId, status, start } = state;
    const current = {
      runId,
      epoch: 1,
      firstRunId: start.firstRunId,
      status,
      startRequestId: start.requestId,
      startedAt: start.startedAt,
    };
    const ledger = { find: () => undefined };
    return { state, execution: { namespaceId, workflowId, current, ledger } };
  }

  async history(run: RunRef, range: HistoryRange, call: CallContext): Promise<BranchPage> {
    const { state } = await this.read(run, call);
    assertOnBranch(state, range.branch);
    const last = Math.min(
      range.toEventId,
      state.nextEventId - 1,
      range.fromEventId + this.eventsPerPage - 1,
    );
    const chunks: Uint8Array[] = [];
    for (let id = range.fromEventId; id <= last; id++) chunks.push(eventBytes(id));
    const { lineage } = state;
    return { chunks, fromEventId: range.fromEventId, toEventId: last, lineage };
  }

  waitForEvents(run: RunRef, afterEventId: number, call: CallContext): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const state = this.runs.get(run.runId);
        if (state === undefined || (state.nextEventId - 1 <= afterEventId && state.status === 1))
          return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      call.signal.addEventListener('abort', () => {
        this.#waiting.delete(look);
        reject(call.signal.reason as Error);
      });
      look();
    });
  }

  startTask(task: OfferedTask, poller: { readonly requestId: string }): Promise<StartedTask> {
    this.startedTasks.push({ task, requestId: poller.requestId });
    return this.onStartTask(task);
  }

  query(_target: Target, query: WorkflowQuery, call: CallContext): Promise<QueryOutcome> {
    return this.onQuery(query, call);
  }

  answerQuery(run: RunRef, queryId: string, answer: QueryAnswer): void {
    this.answers.push({ run, queryId, answer });
  }

  askAgain(): void {}
}

/** One event of that id as it is stored. */
export function eventBytes(eventId: number): Uint8Array {
  const event = { eventId, eventTime: 0, version: 1 };
  return encodeEvents([{ ...event, kind: 'TimerFired', attributes: { timerId: `t${eventId}` } }]);
}
