/**
 * The client of one order: starts it, signals, looks, cancels or terminates it, and waits for its end. It notes what was
 * acknowledged, and when.
 *
 * Invariants
 *  1. A write whose answer was not heard is sent again under the same request id.
 *  2. Only an answer counts as acknowledged.
 */
import { sleep } from '../../kernel/clock.ts';
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { HistoryEventFilterType, WorkflowExecutionStatus } from '../../wire/enums.ts';
import type { Request } from '../../wire/services.ts';
import { toDuration } from '../../wire/time.ts';
import { callOnce, callUntilAnswered, type Callers } from './callers.ts';
import { NAMESPACE } from './host.ts';
import type { WriteKind } from './journal.ts';
import { fromPayloads, toPayloads, type Fate } from './order-process.ts';

/** Endless, in effect: faults end before. */
const TRIES = 400;
const READ_TRIES = 3;
const READ_MS = 3_000;
const MOST_LOOKS = 3;
const TASK_TIMEOUT_MS = 3_000;

export type Order = {
  readonly workflowId: string;
  readonly fate: Fate;
  readonly beginsMs: number;
  readonly shipWithinMs: number;
  readonly ships: boolean;
  readonly notes: number;
  /** Numbers of notes that carry no request id: each is sent once, and not again unless refused. */
  readonly anonymous?: readonly number[];
  readonly ending: 'none' | 'cancel' | 'terminate';
  readonly startsAgain: boolean;
  /** The longest that it waits between looks, ms. */
  readonly looksWithinMs?: number;
};

/** What the notes carry that have no request id. */
export function anonymousOf(orders: readonly Order[]): readonly string[] {
  return orders.flatMap(({ workflowId, anonymous = [] }) =>
    anonymous.map((note) => `${workflowId}/note-${note}`),
  );
}

export class Client {
  readonly #callers: Callers;
  readonly #rng: SeededRng;
  readonly #order: Order;
  #over = false;

  constructor(callers: Callers, rng: SeededRng, order: Order) {
    this.#callers = callers;
    this.#rng = rng;
    this.#order = order;
  }

  /** Resolves when every run that it started has ended. */
  async run(): Promise<void> {
    const { beginsMs, startsAgain, workflowId } = this.#order;
    await this.#wait(beginsMs);
    const first = await this.#start(`${workflowId}/start-1`);
    if (first === undefined) return;
    const looking = this.#look(first);
    await Promise.all([this.#act(first), this.#awaitEnd(first)]);
    if (startsAgain) {
      const second = await this.#start(`${workflowId}/start-2`);
      if (second !== undefined) {
        await this.#signal(second, `${workflowId}/again/shipped`);
        await this.#awaitEnd(second);
      }
    }
    this.#over = true;
    await looking;
  }

  async #act(runId: string): Promise<void> {
    const { workflowId, notes, ships, ending } = this.#order;
    if (this.#rng.chance(0.3)) await this.#start(`${workflowId}/start-1`);
    for (let note = 1; note <= notes; note += 1) {
      await this.#wait(this.#rng.fraction() * 4_000);
      const isAnonymous = this.#order.anonymous?.includes(note) ?? false;
      await this.#signal(runId, `${workflowId}/note-${note}`, isAnonymous);
      if (this.#rng.chance(0.3) && !isAnonymous) {
        await this.#signal(runId, `${workflowId}/note-${note}`);
      }
    }
    await this.#wait(this.#rng.fraction() * 6_000);
    if (ending === 'cancel') await this.#cancel(runId);
    if (ending === 'terminate') await this.#terminate(runId);
    if (ships) await this.#signal(runId, `${workflowId}/shipped`);
  }

  async #start(requestId: string): Promise<string | undefined> {
    const { workflowId, fate, shipWithinMs } = this.#order;
    const request: Request<'StartWorkflowExecution'> = {
      namespace: NAMESPACE,
      workflowId,
      requestId,
      workflowType: { name: 'order' },
      taskQueue: { name: 'orders' },
      workflowTaskTimeout: toDuration(TASK_TIMEOUT_MS),
      input: toPayloads({ order: workflowId, fate, shipWithinMs }),
      identity: 'client',
    };
    const rpc = { name: 'StartWorkflowExecution', request } as const;
    const outcome = await callUntilAnswered(this.#callers, workflowId, rpc, { tries: TRIES });
    if (outcome.kind !== 'answered') return undefined;
    const runId = outcome.response.runId ?? '';
    this.#acked('start', runId, requestId);
    return runId;
  }

  async #signal(runId: string, id: string, isAnonymous = false): Promise<void> {
    const { workflowId } = this.#order;
    const request = {
      namespace: NAMESPACE,
      workflowExecution: { workflowId, runId },
      signalName: 'signal',
      ...(isAnonymous ? {} : { requestId: id }),
      input: toPayloads(id),
      identity: 'client',
    };
    const tries = isAnonymous ? 1 : TRIES;
    await this.#write('signal', { name: 'SignalWorkflowExecution', request }, { runId, id, tries });
  }

  async #cancel(runId: string): Promise<void> {
    const { workflowId } = this.#order;
    const id = `${workflowId}/cancel`;
    const request = {
      namespace: NAMESPACE,
      workflowExecution: { workflowId, runId },
      requestId: id,
      identity: 'client',
    };
    await this.#write('cancel', { name: 'RequestCancelWorkflowExecution', request }, { runId, id });
  }

  async #terminate(runId: string): Promise<void> {
    const { workflowId } = this.#order;
    const request = {
      namespace: NAMESPACE,
      workflowExecution: { workflowId, runId },
      reason: 'simulated',
      identity: 'client',
    };
    const id = `${workflowId}/terminate`;
    await this.#write('terminate', { name: 'TerminateWorkflowExecution', request }, { runId, id });
  }

  async #write(
    kind: Exclude<WriteKind, 'start'>,
    rpc: Parameters<typeof callUntilAnswered>[2],
    about: { readonly runId: string; readonly id: string; readonly tries?: number },
  ): Promise<void> {
    const { workflowId } = this.#order;
    const { runId, id, tries = TRIES } = about;
    const outcome = await callUntilAnswered(this.#callers, workflowId, rpc, { tries });
    const { begunMs, endedMs } = outcome;
    if (outcome.kind === 'answered') {
      this.#acked(kind, runId, id);
      await this.#readOwnWrite(runId);
    } else if (outcome.kind === 'refused' && outcome.error.code === 'not-found') {
      const span = { begunMs, endedMs };
      this.#callers.journal.nothing.push({ ...span, by: kind, workflowId, runId, isRead: false });
    }
  }

  #acked(kind: WriteKind, runId: string, requestId: string): void {
    const { workflowId } = this.#order;
    const ackedMs = this.#callers.time.monotonicMs();
    this.#callers.trace.note(`client: ${kind} ${requestId} acknowledged by run ${runId}`);
    this.#callers.journal.writes.push({ kind, workflowId, runId, requestId, ackedMs });
  }

  /** Looks at once, by whichever hosts believe that they own the shard: an owner that was overtaken must not answer. */
  async #readOwnWrite(runId: string): Promise<void> {
    const looks = this.#rng.integer(0, MOST_LOOKS);
    await Promise.all(Array.from({ length: looks }, () => this.#describe(runId)));
  }

  /** Reads now and then until the order is over. */
  async #look(runId: string): Promise<void> {
    while (!this.#over) {
      await this.#wait(300 + this.#rng.fraction() * (this.#order.looksWithinMs ?? 5_000));
      const drawn = this.#rng.fraction();
      if (drawn < 0.4) await this.#describe(runId);
      else if (drawn < 0.6) await this.#history(runId);
      else await this.#query(runId);
    }
  }

  async #describe(runId: string): Promise<void> {
    const { workflowId } = this.#order;
    const request = { namespace: NAMESPACE, execution: { workflowId, runId } };
    const rpc = { name: 'DescribeWorkflowExecution', request } as const;
    const outcome = await callUntilAnswered(this.#callers, workflowId, rpc, {
      tries: READ_TRIES,
      deadlineMs: READ_MS,
    });
    const { begunMs, endedMs } = outcome;
    if (outcome.kind === 'answered') {
      const info = outcome.response.workflowExecutionInfo ?? {};
      this.#callers.journal.runs.push({
        begunMs,
        endedMs,
        by: 'describe',
        workflowId,
        runId,
        events: Number(info.historyLength),
        transitions: Number(info.stateTransitionCount),
        closed: info.status !== WorkflowExecutionStatus.Running,
      });
    } else this.#sawNothing('describe', outcome, { begunMs, endedMs, runId });
  }

  async #history(runId: string): Promise<void> {
    const { workflowId } = this.#order;
    const request = { namespace: NAMESPACE, execution: { workflowId, runId } };
    const rpc = { name: 'GetWorkflowExecutionHistory', request } as const;
    const outcome = await callUntilAnswered(this.#callers, workflowId, rpc, {
      tries: READ_TRIES,
      deadlineMs: READ_MS,
    });
    const { begunMs, endedMs } = outcome;
    if (outcome.kind === 'answered') {
      const events = outcome.response.history?.events?.length ?? 0;
      const seen = { begunMs, endedMs, workflowId, runId, events, closed: false };
      this.#callers.journal.runs.push({ ...seen, by: 'history' });
    } else this.#sawNothing('history', outcome, { begunMs, endedMs, runId });
  }

  async #query(runId: string): Promise<void> {
    const { workflowId } = this.#order;
    const query = { queryType: 'signals' };
    const request = { namespace: NAMESPACE, execution: { workflowId, runId }, query };
    const begunMs = this.#callers.time.monotonicMs();
    const rpc = { name: 'QueryWorkflow', request } as const;
    const outcome = await callOnce(this.#callers, workflowId, rpc, READ_MS);
    const endedMs = this.#callers.time.monotonicMs();
    if (outcome.kind === 'answered') {
      const signals = fromPayloads(outcome.response.queryResult) as readonly string[];
      this.#callers.journal.queries.push({ begunMs, endedMs, workflowId, runId, signals });
    } else this.#sawNothing('query', outcome, { begunMs, endedMs, runId });
  }

  #sawNothing(
    by: string,
    outcome: { readonly kind: string; readonly error?: { readonly code: string } },
    seen: { readonly begunMs: number; readonly endedMs: number; readonly runId: string },
  ): void {
    if (outcome.kind !== 'refused' || outcome.error?.code !== 'not-found') return;
    const { workflowId } = this.#order;
    this.#callers.journal.nothing.push({ ...seen, by, workflowId, isRead: true });
  }

  /** Waits for the run's close event, by long polls. */
  async #awaitEnd(runId: string): Promise<void> {
    const { workflowId } = this.#order;
    const request = {
      namespace: NAMESPACE,
      execution: { workflowId, runId },
      waitNewEvent: true,
      historyEventFilterType: HistoryEventFilterType.CloseEvent,
    };
    const rpc = { name: 'GetWorkflowExecutionHistory', request } as const;
    for (;;) {
      const outcome = await callOnce(this.#callers, workflowId, rpc, 8_000);
      const events = outcome.kind === 'answered' ? (outcome.response.history?.events ?? []) : [];
      if (events.length > 0) return;
      // A promoted standby may not know the run at all: then there is nothing to wait for.
      if (outcome.kind === 'refused' && outcome.error.code === 'not-found') return;
      await this.#wait(100);
    }
  }

  #wait(ms: number): Promise<void> {
    return sleep(this.#callers.time, ms);
  }
}
