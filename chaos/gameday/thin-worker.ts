/**
 * A thin worker: raw calls, no workflow code, no replay. What a workflow does next is read from its type and its history,
 * so that nothing is kept which a move could confuse.
 *
 *   open     a timer far away, then nothing, whatever comes: it stays open
 *   once     one activity that may be tried once, then its end
 *
 * Invariants
 *  1. Nothing is repeated. A call that failed is a failed call; a workflow task whose start another cell has failed since
 *     (BEHAVIOURS 26) is stale: it is polled again, and counted apart.
 *  2. Every execution of an activity is counted, before its answer.
 */
import { setMaxListeners } from 'node:events';
import { sleep, systemClock } from '../../kernel/clock.ts';
import { toAtollError } from '../../kernel/errors.ts';
import { rawCalls, type RawCalls } from '../../bin/testing/raw-calls.ts';
import { COMMAND_TYPE, EVENT_TYPE } from '../../wire/event-kinds.ts';
import type { Request, Response } from '../../wire/services.ts';
import { toDuration } from '../../wire/time.ts';
import type { Failed } from './load.ts';
import type { Executions } from './executions.ts';

export const THIN_QUEUE = 'gameday-thin';
const POLLERS = 8;
const POLL_MS = 60_000;
/** What a client allows for a call. */
const RESPOND_MS = 10_000;
const AFTER_FAILURE_MS = 100;
const FAR_AWAY_MS = 30 * 24 * 3_600_000;
const ACTIVITY_MS = 60_000;

type Command = NonNullable<Request<'RespondWorkflowTaskCompleted'>['commands']>[number];
type WorkflowTask = Response<'PollWorkflowTaskQueue'>;
type ActivityTask = Response<'PollActivityTaskQueue'>;

export class ThinWorker {
  readonly failed: Failed[] = [];
  readonly #calls: RawCalls;
  readonly #namespace: string;
  readonly #executions: Executions;
  readonly #closing = new AbortController();
  readonly #loops: readonly Promise<void>[];
  #stale = 0;
  #timers = 0;

  constructor(
    address: string,
    options: { readonly namespace: string; readonly executions: Executions },
  ) {
    this.#calls = rawCalls(address);
    this.#namespace = options.namespace;
    this.#executions = options.executions;
    setMaxListeners(2 * POLLERS, this.#closing.signal);
    this.#loops = Array.from({ length: POLLERS }, () => [
      this.#loop('poll for workflow tasks', () => this.#workflowTask()),
      this.#loop('poll for activity tasks', () => this.#activityTask()),
    ]).flat();
  }

  /** Workflow tasks whose answer came too late, since another cell had failed their start. */
  get stale(): number {
    return this.#stale;
  }

  /** Open runs that have had their first task: their timer is on. */
  get timers(): number {
    return this.#timers;
  }

  async stop(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#loops);
    this.#calls.close();
  }

  async #loop(what: string, turn: () => Promise<void>): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        await turn();
      } catch (thrown) {
        if (this.#closing.signal.aborted) return;
        const { code, message } = toAtollError(thrown);
        // A poll that found nothing until its deadline.
        if (code === 'deadline-exceeded' && what.startsWith('poll')) continue;
        this.failed.push({ at: systemClock.now(), what, why: `${code}: ${message}` });
        await sleep(systemClock, AFTER_FAILURE_MS);
      }
    }
  }

  async #workflowTask(): Promise<void> {
    const task = await this.#calls.call('PollWorkflowTaskQueue', this.#pollOf(), {
      timeoutMs: POLL_MS,
      signal: this.#closing.signal,
    });
    const { taskToken } = task;
    if (!taskToken || taskToken.length === 0) return;
    const commands = commandsOf(task);
    const answer = { namespace: this.#namespace, taskToken, identity: 'thin', commands };
    await this.#answer('complete a workflow task', async () => {
      try {
        await this.#calls.call('RespondWorkflowTaskCompleted', answer, { timeoutMs: RESPOND_MS });
        if (commands.includes(TIMER)) this.#timers += 1;
      } catch (thrown) {
        if (toAtollError(thrown).code !== 'not-found') throw thrown;
        this.#stale += 1;
      }
    });
  }

  async #activityTask(): Promise<void> {
    const task: ActivityTask = await this.#calls.call('PollActivityTaskQueue', this.#pollOf(), {
      timeoutMs: POLL_MS,
      signal: this.#closing.signal,
    });
    const { taskToken, workflowExecution, activityId } = task;
    if (!taskToken || taskToken.length === 0) return;
    this.#executions.began(workflowExecution?.runId ?? '', activityId ?? '');
    const answer = { namespace: this.#namespace, taskToken, identity: 'thin' };
    await this.#answer('complete an activity', () =>
      this.#calls.call('RespondActivityTaskCompleted', answer, { timeoutMs: RESPOND_MS }),
    );
  }

  async #answer(what: string, call: () => Promise<unknown>): Promise<void> {
    try {
      await call();
    } catch (thrown) {
      const { code, message } = toAtollError(thrown);
      this.failed.push({ at: systemClock.now(), what, why: `${code}: ${message}` });
    }
  }

  #pollOf() {
    return {
      namespace: this.#namespace,
      taskQueue: { name: THIN_QUEUE },
      identity: 'thin',
    };
  }
}

/** What the workflow does next, by all that has happened. */
function commandsOf({ workflowType, history }: WorkflowTask): readonly Command[] {
  const kinds = new Set((history?.events ?? []).map(({ eventType }) => Number(eventType)));
  if (workflowType?.name === 'open') return kinds.has(EVENT_TYPE.TimerStarted) ? [] : [TIMER];
  if (!kinds.has(EVENT_TYPE.ActivityTaskScheduled)) return [ACTIVITY];
  return kinds.has(EVENT_TYPE.ActivityTaskCompleted) ? [COMPLETE] : [];
}

const TIMER: Command = {
  commandType: COMMAND_TYPE.StartTimer,
  startTimerCommandAttributes: { timerId: 't', startToFireTimeout: toDuration(FAR_AWAY_MS) },
};
const ACTIVITY: Command = {
  commandType: COMMAND_TYPE.ScheduleActivityTask,
  scheduleActivityTaskCommandAttributes: {
    activityId: 'once',
    activityType: { name: 'once' },
    taskQueue: { name: THIN_QUEUE },
    startToCloseTimeout: toDuration(ACTIVITY_MS),
    retryPolicy: { maximumAttempts: 1 },
  },
};
const COMPLETE: Command = {
  commandType: COMMAND_TYPE.CompleteWorkflowExecution,
  completeWorkflowExecutionCommandAttributes: {},
};
