/**
 * The load generator: starts, signals, calls and waits as clients would.
 *
 * Place: bench/load-main.ts runs it in a process of its own.
 *
 * Invariants
 *  1. Requests that a server did not answer are sent again as they were: with the same ids.
 *  2. What counts as done was seen by a client: a workflow's end is told by the long poll for its closing event.
 */
import { HistoryEventFilterType, TaskQueueKind } from '../../wire/enums.ts';
import { CallError, Channel, STATUS } from './channel.ts';
import type { LoadOptions, LoadReport } from './messages.ts';
import { pathOf, requestOf, responseOf, type BenchRpc } from './requests.ts';
import { Samples } from './samples.ts';
import { describeCall } from './describe-call.ts';
import { nowMs, sleep } from './time.ts';

const START_MS = 10_000;
const CLOSE_POLL_MS = 70_000;
const SIGNAL_MS = 30_000;
const CALL_MS = 10_000;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 500;
/** Of an open loop; beyond it the server is lost anyway. */
const MOST_IN_FLIGHT = 20_000;
const RETRIED: readonly number[] = [
  STATUS.unavailable,
  STATUS.deadlineExceeded,
  STATUS.resourceExhausted,
];

const JSON_PLAIN = Buffer.from('json/plain');

function newSamples() {
  return {
    start: new Samples(),
    endToEnd: new Samples(),
    signal: new Samples(),
    call: new Samples(),
    lateness: new Samples(),
  };
}

/** The run that signals go to, and how many were sent to it. */
type Target = { readonly workflowId: string; sent: number };

export class LoadGenerator {
  readonly #options: LoadOptions;
  readonly #identity = `bench-load-${process.pid}`;
  readonly #channel: Channel;
  readonly #call: Buffer;
  readonly #counts = { started: 0, completed: 0, inFlight: 0, errors: 0, retries: 0, recorded: 0 };
  #samples = newSamples();
  #recording = false;
  #draining = false;
  #lastError = '';
  #serial = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    const { address, namespace, sessions, taskQueue } = options;
    this.#channel = new Channel(address, {
      sessions,
      headers: { 'temporal-namespace': namespace },
    });
    this.#call = describeCall(namespace, taskQueue);
  }

  /** Does its work; resolves when that is done. `onOpened` tells that signals have a run to go to. */
  async run(onOpened: () => void): Promise<void> {
    const { work } = this.#options;
    switch (work.kind) {
      case 'closed-loop':
        return this.#each(work.clients, () => this.#once(work.type));
      case 'open-loop':
        return this.#timetable(work.perSecond, () => this.#once(work.type));
      case 'start':
        return this.#startMany(work, () => this.#nextId());
      case 'timers':
        return this.#startMany({ ...work, type: 'timer' }, () => `${this.#nextId()}@${work.dueAt}`);
      case 'signals':
        return this.#signalOneRun(work, onOpened);
      case 'calls':
        return work.perSecond > 0
          ? this.#timetable(work.perSecond, () => this.#callOnce())
          : this.#each(work.clients, () => this.#callOnce());
    }
  }

  record(on: boolean): void {
    this.#recording = on;
    if (!on) return;
    this.#samples = newSamples();
    this.#counts.recorded = 0;
  }

  /** Starts nothing more; what was started is waited for. */
  drain(): void {
    this.#draining = true;
  }

  report(): LoadReport {
    const summaries = Object.entries(this.#samples).map(([name, set]) => [name, set.summary()]);
    return {
      ...this.#counts,
      lastError: this.#lastError,
      ...(Object.fromEntries(summaries) as Pick<LoadReport, keyof ReturnType<typeof newSamples>>),
    };
  }

  /** So many clients, each with one piece of work after another. */
  async #each(clients: number, act: () => Promise<void>): Promise<void> {
    const client = async () => {
      while (!this.#draining) await act();
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  /** Pieces of work at fixed times, however long they take. */
  async #timetable(perSecond: number, act: () => Promise<void>): Promise<void> {
    const from = nowMs();
    for (let number = 0; !this.#draining;) {
      const wait = from + (number * 1000) / perSecond - nowMs();
      if (wait > 0) {
        await sleep(wait);
        continue;
      }
      number += 1;
      if (this.#recording) this.#samples.lateness.add(-wait);
      if (this.#counts.inFlight < MOST_IN_FLIGHT) void act();
    }
  }

  async #once(type: string): Promise<void> {
    const workflowId = this.#nextId();
    await this.#counted('endToEnd', async () => {
      await this.#closed(workflowId, await this.#start(workflowId, type));
      this.#counts.completed += 1;
    });
  }

  async #callOnce(): Promise<void> {
    await this.#counted('call', () =>
      this.#channel.call(pathOf('DescribeTaskQueue'), this.#call, CALL_MS),
    );
  }

  /** One piece of work as a client sees it: how long it took, or that it failed. */
  async #counted(samples: 'endToEnd' | 'call' | 'signal', act: () => Promise<unknown>) {
    const from = nowMs();
    this.#counts.inFlight += 1;
    try {
      await act();
      if (!this.#recording) return;
      this.#samples[samples].add(nowMs() - from);
      this.#counts.recorded += 1;
    } catch (error) {
      this.#fault(error);
      await sleep(FIRST_WAIT_MS);
    } finally {
      this.#counts.inFlight -= 1;
    }
  }

  async #start(workflowId: string, type: string): Promise<string> {
    const { namespace, taskQueue } = this.#options;
    const request = requestOf('StartWorkflowExecution', {
      namespace,
      workflowId,
      workflowType: { name: type },
      taskQueue: { name: taskQueue, kind: TaskQueueKind.Normal },
      identity: this.#identity,
      requestId: workflowId,
    });
    const from = nowMs();
    const answer = await this.#insist('StartWorkflowExecution', request, START_MS);
    const { runId = '' } = responseOf('StartWorkflowExecution', answer);
    if (this.#recording) this.#samples.start.add(nowMs() - from);
    this.#counts.started += 1;
    return runId;
  }

  /** Resolves when the run is closed. */
  async #closed(workflowId: string, runId: string): Promise<void> {
    const { namespace } = this.#options;
    let nextPageToken: Uint8Array | undefined;
    for (;;) {
      const request = requestOf('GetWorkflowExecutionHistory', {
        namespace,
        execution: { workflowId, runId },
        waitNewEvent: true,
        historyEventFilterType: HistoryEventFilterType.CloseEvent,
        nextPageToken,
      });
      const answer = await this.#insist('GetWorkflowExecutionHistory', request, CLOSE_POLL_MS);
      const {
        history,
        rawHistory,
        nextPageToken: next,
      } = responseOf('GetWorkflowExecutionHistory', answer);
      if (history?.events?.length || rawHistory?.length) return;
      nextPageToken = next;
    }
  }

  /** A client's patience: a server that is away, late or over its limit is asked again. */
  async #insist(rpc: BenchRpc, request: Buffer, timeoutMs: number): Promise<Buffer> {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      try {
        return await this.#channel.call(pathOf(rpc), request, timeoutMs);
      } catch (error) {
        const again = error instanceof CallError && RETRIED.includes(error.code);
        if (!again) throw error;
        this.#counts.retries += 1;
        this.#lastError = error.message;
        await sleep(wait);
      }
    }
  }

  async #startMany(
    work: { readonly count: number; readonly clients: number; readonly type: string },
    idOf: () => string,
  ): Promise<void> {
    let left = work.count;
    const client = async () => {
      while (left > 0 && !this.#draining) {
        left -= 1;
        const id = idOf();
        // Taken although its answer was lost is as good as answered.
        await this.#start(id, work.type).catch((error: unknown) => {
          if (!(error instanceof CallError && error.code === STATUS.alreadyExists)) {
            this.#fault(error);
          }
        });
      }
    };
    await Promise.all(Array.from({ length: work.clients }, client));
  }

  async #signalOneRun(
    work: { readonly signalsPerRun: number; readonly clients: number },
    onOpened: () => void,
  ): Promise<void> {
    let target = await this.#openTarget();
    let opening: Promise<void> | undefined;
    onOpened();
    await this.#each(work.clients, () => {
      if (target.sent < work.signalsPerRun) return this.#signal(target);
      opening ??= this.#openTarget().then((next) => {
        target = next;
        opening = undefined;
      });
      return opening;
    });
  }

  async #openTarget(): Promise<Target> {
    const workflowId = this.#nextId();
    await this.#start(workflowId, 'idle');
    return { workflowId, sent: 0 };
  }

  async #signal(target: Target): Promise<void> {
    target.sent += 1;
    const number = String(target.sent);
    const request = requestOf('SignalWorkflowExecution', {
      namespace: this.#options.namespace,
      workflowExecution: { workflowId: target.workflowId },
      signalName: 's',
      identity: this.#identity,
      requestId: `${target.workflowId}/${number}`,
      input: { payloads: [{ metadata: { encoding: JSON_PLAIN }, data: Buffer.from(number) }] },
    });
    const path = pathOf('SignalWorkflowExecution');
    await this.#counted('signal', () => this.#channel.call(path, request, SIGNAL_MS));
  }

  #nextId(): string {
    return `${this.#options.taskQueue}-${process.pid}-${this.#serial++}`;
  }

  #fault(error: unknown): void {
    this.#counts.errors += 1;
    this.#lastError = error instanceof Error ? error.message : String(error);
  }
}
