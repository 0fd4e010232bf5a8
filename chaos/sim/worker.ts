/**
 * The workers of a world on the raw protocol: pollers on every living host, one cache of histories, one ledger.
 *
 * Invariants
 *  1. A task is answered with what its history calls for and nothing else (order-process.ts).
 *  2. An answer that was not heard is sent again, with the same token, to whichever host serves the shard.
 */
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { sleep } from '../../kernel/clock.ts';
import { toWireCommand } from '../../wire/command-codec.ts';
import { QueryResultType, TaskQueueKind, WorkflowTaskFailedCause } from '../../wire/enums.ts';
import { fromWireEvent, type WireEvent } from '../../wire/event-codec.ts';
import type { HistoryEvent } from '../../wire/events.ts';
import type { Response } from '../../wire/services.ts';
import { toDuration } from '../../wire/time.ts';
import { callUntilAnswered, type Callers } from './callers.ts';
import { NAMESPACE } from './host.ts';
import type { Callee } from './network.ts';
import type { SeenTask } from './journal.ts';
import type { Ledger } from './ledger.ts';
import { nextCommands, signalsOf, toPayloads, type Fate } from './order-process.ts';
import { WorkerMemory } from './worker-memory.ts';

const POLL_MS = 5_000;
const STICKY_QUEUE = 'worker-1-sticky';
const RESPOND_TRIES = 6;

type WorkflowTask = Response<'PollWorkflowTaskQueue'>;
type ActivityTask = Response<'PollActivityTaskQueue'>;
type Answer =
  | { readonly kind: 'completed'; readonly result: unknown }
  | { readonly kind: 'failed'; readonly type: string; readonly final: boolean };

export class Workers {
  readonly #callers: Callers;
  readonly #rng: SeededRng;
  readonly #ledger: Ledger;
  readonly #sticky: boolean;
  readonly #fateOf: (workflowId: string) => Fate;
  readonly #memory = new WorkerMemory();
  /** Until when a run's last task is being worked on. */
  readonly #busy = new Map<string, Promise<void>>();
  #tasks = 0;

  constructor(options: {
    readonly callers: Callers;
    readonly rng: SeededRng;
    readonly ledger: Ledger;
    /** Whether workflow tasks come back to the worker that has the run in memory. */
    readonly sticky: boolean;
    readonly fateOf: (workflowId: string) => Fate;
  }) {
    this.#callers = options.callers;
    this.#rng = options.rng;
    this.#ledger = options.ledger;
    this.#sticky = options.sticky;
    this.#fateOf = options.fateOf;
  }

  /** Polls this host until it dies, from a while after it came up: its workers may be slow to find it. */
  async serve(host: Callee): Promise<void> {
    const { time, faults } = this.#callers;
    await sleep(time, faults.pollersLateMs());
    for (let i = 0; i < 2; i += 1) {
      void this.#loop(host, () => this.#pollWorkflow(host, 'orders'));
      void this.#loop(host, () => this.#pollActivity(host));
    }
    if (this.#sticky) void this.#loop(host, () => this.#pollWorkflow(host, STICKY_QUEUE));
  }

  /** Its process restarted: whatever it knew of runs is gone. */
  forget(): void {
    this.#memory.clear();
  }

  async #loop(host: Callee, once: () => Promise<'polled' | 'refused'>): Promise<void> {
    const { time } = this.#callers;
    while (host.gate.state !== 'dead') {
      const outcome = await once();
      await sleep(time, outcome === 'polled' ? 1 : 100 + this.#rng.fraction() * 200);
    }
  }

  async #pollWorkflow(host: Callee, name: string): Promise<'polled' | 'refused'> {
    const kind = name === STICKY_QUEUE ? TaskQueueKind.Sticky : TaskQueueKind.Normal;
    const request = { namespace: NAMESPACE, taskQueue: { name, kind }, identity: 'worker-1' };
    const outcome = await this.#callers.network.call(
      host,
      { name: 'PollWorkflowTaskQueue', request },
      POLL_MS,
    );
    if (outcome.kind !== 'answered') return outcome.kind === 'lost' ? 'polled' : 'refused';
    const task = outcome.response;
    if ((task.taskToken?.length ?? 0) > 0) this.#takeTask(host, task);
    return 'polled';
  }

  /** A task of a run waits until the one before it is answered, as in real workers: what that brought may be forgotten then. */
  #takeTask(host: Callee, task: WorkflowTask): void {
    const runId = task.workflowExecution?.runId ?? '';
    const before = this.#busy.get(runId) ?? Promise.resolve();
    const done = before
      .then(() => this.#workflowTask(host, task))
      .finally(() => {
        if (this.#busy.get(runId) === done) this.#busy.delete(runId);
      });
    this.#busy.set(runId, done);
  }

  async #workflowTask(host: Callee, task: WorkflowTask): Promise<void> {
    const { time, faults } = this.#callers;
    if (!task.query) this.#heardWorkflowTask(task);
    this.#tasks += 1;
    const of = this.#tasks;
    await sleep(time, 0.5 + this.#rng.fraction() * 30 + faults.workerDelayMs());
    if (faults.workerLosesTask()) return;
    const runId = task.workflowExecution?.runId ?? '';
    const events = this.#eventsOf(task, runId);
    if (task.query) return this.#answerQuery(host, task, events);
    if (!events) return this.#forgot(task);
    const isNews = events.length > this.#memory.eventsOf(runId).length;
    if (this.#sticky) this.#memory.remember(runId, { of, events });
    const answer = { resultType: QueryResultType.Answered, answer: toPayloads(signalsOf(events)) };
    const queryResults = Object.fromEntries(
      Object.keys(task.queries ?? {}).map((id) => [id, answer]),
    );
    const commands = isNews ? nextCommands(events) : [];
    this.#callers.trace.note(
      `worker completes ${task.workflowExecution?.workflowId} at ${task.startedEventId}: ${commands.map(({ kind }) => kind).join(' ')}`,
    );
    const stickyAttributes = this.#sticky
      ? {
          workerTaskQueue: { name: STICKY_QUEUE, kind: TaskQueueKind.Sticky },
          scheduleToStartTimeout: toDuration(1_500),
        }
      : undefined;
    const outcome = await this.#respond(task, {
      name: 'RespondWorkflowTaskCompleted',
      request: {
        namespace: NAMESPACE,
        taskToken: task.taskToken,
        commands: commands.map(toWireCommand),
        queryResults,
        stickyAttributes,
        identity: 'worker-1',
      },
    });
    if (outcome === 'answered') {
      this.#acked('workflow-task', task, Number(task.startedEventId));
      const { workflowId = '' } = task.workflowExecution ?? {};
      this.#callers.journal.answered.push({ workflowId, runId, shown: events });
    } else this.#memory.forget(runId); // As a real worker does: the run is not what it thought.
  }

  #heardWorkflowTask(task: WorkflowTask): void {
    const attempt = task.attempt ?? 1;
    // Its start is not stored, nor is the scheduling of a later attempt (BEHAVIOURS 4).
    const events = Number(task.startedEventId) - (attempt === 1 ? 1 : 2);
    this.#heard(task, { kind: 'workflow-task', events });
  }

  #heard(task: WorkflowTask | ActivityTask, seen: SeenTask['task']): void {
    const { journal, time } = this.#callers;
    const { workflowId = '', runId = '' } = task.workflowExecution ?? {};
    journal.tasks.push({ workflowId, runId, heardMs: time.monotonicMs(), task: seen });
  }

  /** All events up to the task's start; undefined when the worker does not have those before the task's. */
  #eventsOf(task: WorkflowTask, runId: string): readonly HistoryEvent[] | undefined {
    const fresh = (task.history?.events ?? []).flatMap((event) => {
      const known = fromWireEvent(event as WireEvent);
      return known ? [known] : [];
    });
    if (task.query && fresh.length === 0) {
      const known = this.#memory.eventsOf(runId);
      return known.length > 0 ? known : undefined;
    }
    const events = this.#memory.joined(runId, fresh);
    return events && this.#checked(events, task);
  }

  #checked(events: readonly HistoryEvent[], task: WorkflowTask): readonly HistoryEvent[] {
    const gap = events.find(({ eventId }, index) => eventId !== index + 1);
    if (gap) {
      this.#callers.journal.breaches.push(
        `P4: a worker got event ${gap.eventId} of ${task.workflowExecution?.workflowId} out of place`,
      );
    }
    return events;
  }

  async #forgot(task: WorkflowTask): Promise<void> {
    await this.#respond(task, {
      name: 'RespondWorkflowTaskFailed',
      request: {
        namespace: NAMESPACE,
        taskToken: task.taskToken,
        cause: WorkflowTaskFailedCause.ResetStickyTaskQueue,
        identity: 'worker-1',
      },
    });
  }

  /** The query waits in the memory of the host that sent it. */
  async #answerQuery(
    host: Callee,
    task: WorkflowTask,
    events: readonly HistoryEvent[] | undefined,
  ): Promise<void> {
    const request = {
      namespace: NAMESPACE,
      taskToken: task.taskToken,
      completedType: events ? QueryResultType.Answered : QueryResultType.Failed,
      queryResult: events ? toPayloads(signalsOf(events)) : undefined,
      errorMessage: events ? '' : 'the worker lost the run',
    };
    await this.#callers.network.call(host, { name: 'RespondQueryTaskCompleted', request }, POLL_MS);
  }

  async #pollActivity(host: Callee): Promise<'polled' | 'refused'> {
    const request = { namespace: NAMESPACE, taskQueue: { name: 'orders' }, identity: 'worker-1' };
    const outcome = await this.#callers.network.call(
      host,
      { name: 'PollActivityTaskQueue', request },
      POLL_MS,
    );
    if (outcome.kind !== 'answered') return outcome.kind === 'lost' ? 'polled' : 'refused';
    const task = outcome.response;
    if ((task.taskToken?.length ?? 0) > 0) void this.#activityTask(task);
    return 'polled';
  }

  async #activityTask(task: ActivityTask): Promise<void> {
    const { journal, time, faults, trace } = this.#callers;
    const { workflowId = '', runId = '' } = task.workflowExecution ?? {};
    const activityId = task.activityId ?? '';
    trace.note(`worker runs ${workflowId} ${activityId} attempt ${task.attempt} of ${runId}`);
    this.#heard(task, { kind: 'activity', activityId, attempt: task.attempt ?? 1 });
    if (task.retryPolicy?.maximumAttempts === 1) journal.deliveries.push({ runId, activityId });
    await sleep(time, 1 + this.#rng.fraction() * 150);
    if (faults.workerLosesTask()) return;
    const answer = this.#perform(workflowId, { runId, activityId, attempt: task.attempt ?? 1 });
    if (faults.workerLosesTask()) return;
    const common = { namespace: NAMESPACE, taskToken: task.taskToken, identity: 'worker-1' };
    const outcome =
      answer.kind === 'completed'
        ? await this.#respond(task, {
            name: 'RespondActivityTaskCompleted',
            request: { ...common, result: toPayloads(answer.result) },
          })
        : await this.#respond(task, {
            name: 'RespondActivityTaskFailed',
            request: {
              ...common,
              failure: {
                message: answer.type,
                applicationFailureInfo: { type: answer.type, nonRetryable: answer.final },
              },
            },
          });
    trace.note(`worker's answer to ${workflowId} ${activityId}: ${outcome}`);
  }

  #perform(
    workflowId: string,
    call: { readonly runId: string; readonly activityId: string; readonly attempt: number },
  ): Answer {
    const fate = this.#fateOf(workflowId);
    const { activityId, runId } = call;
    const record = (kind: 'capture' | 'refund' | 'reserve' | 'support'): Answer => {
      this.#ledger.record({ kind, order: workflowId, ...call });
      return { kind: 'completed', result: true };
    };
    if (activityId.startsWith('ask-capture')) {
      return { kind: 'completed', result: this.#ledger.hasMoved('capture', runId) };
    }
    if (activityId.startsWith('ask-refund')) {
      return { kind: 'completed', result: this.#ledger.hasMoved('refund', runId) };
    }
    if (activityId.startsWith('capture')) {
      if (fate === 'declined') return { kind: 'failed', type: 'CardDeclined', final: true };
      return record('capture');
    }
    if (activityId.startsWith('refund')) return record('refund');
    if (activityId !== 'reserve') return record('support');
    if (fate === 'no-stock') return { kind: 'failed', type: 'GoneForEver', final: true };
    return this.#rng.chance(0.3)
      ? { kind: 'failed', type: 'Later', final: false }
      : record('reserve');
  }

  async #respond(
    task: WorkflowTask | ActivityTask,
    rpc: Parameters<typeof callUntilAnswered>[2],
  ): Promise<'answered' | 'gave-up'> {
    const workflowId = task.workflowExecution?.workflowId ?? '';
    const outcome = await callUntilAnswered(this.#callers, workflowId, rpc, {
      tries: RESPOND_TRIES,
    });
    if (outcome.kind !== 'answered') return 'gave-up';
    if (rpc.name === 'RespondActivityTaskCompleted') {
      this.#ackedActivity(task);
    }
    return 'answered';
  }

  #ackedActivity(task: WorkflowTask | ActivityTask): void {
    if ('activityId' in task) this.#acked('activity', task, 0, task.activityId);
  }

  #acked(
    kind: 'workflow-task' | 'activity',
    task: WorkflowTask | ActivityTask,
    eventId: number,
    activityId = '',
  ): void {
    const { workflowId = '', runId = '' } = task.workflowExecution ?? {};
    const ackedMs = this.#callers.time.monotonicMs();
    this.#callers.journal.completions.push({
      kind,
      workflowId,
      runId,
      eventId,
      activityId,
      ackedMs,
    });
  }
}
