/**
 * The load of a thin client beside the official one: raw calls that open runs, signal them, and start workflows of one
 * activity each. What was acknowledged is kept.
 *
 * Invariant: nothing is repeated. A call that failed is a failed call.
 */
import { rawCalls, type RawCalls } from '../../bin/testing/raw-calls.ts';
import { sleep, systemClock } from '../../kernel/clock.ts';
import { toAtollError } from '../../kernel/errors.ts';
import { systemRng } from '../../kernel/rng.ts';
import { WorkflowExecutionStatus } from '../../wire/enums.ts';
import type { Failed, Took } from './load.ts';
import { THIN_QUEUE } from './thin-worker.ts';

const DEADLINE_MS = 10_000;
const PAUSE_MS = 40;
const OPENING = 16;
const LOOKING = 8;
/** Between two looks at what has not completed: looking costs the cells what they finish with. */
const LOOK_EVERY_MS = 1_000;

export class ThinLoad {
  readonly failed: Failed[] = [];
  /** Runs of one activity that were started, by workflow id. */
  readonly started: string[] = [];
  /** How long each call took, with when it began: the pause as clients feel it. */
  readonly took: Took[] = [];
  readonly #calls: RawCalls;
  readonly #namespace: string;
  #lanes: readonly Promise<void>[] = [];
  #open = 0;
  #signals = 0;
  #over = false;

  constructor(address: string, namespace: string) {
    this.#calls = rawCalls(address);
    this.#namespace = namespace;
  }

  get signals(): number {
    return this.#signals;
  }

  /** Starts runs that stay open. Throws when one cannot be started. */
  async open(count: number): Promise<void> {
    let next = 0;
    const lane = async () => {
      while (next < count) {
        next += 1;
        if (await this.#start(`thin-open-${next}`, 'open')) continue;
        throw new Error(`a run could not be opened: ${this.failed.at(-1)?.why}`);
      }
    };
    await Promise.all(Array.from({ length: OPENING }, lane));
    this.#open = count;
  }

  begin(lanes: number): void {
    this.#lanes = Array.from({ length: lanes }, (_, lane) => this.#run(lane));
  }

  /** Resolves when the last call has its answer. */
  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#lanes);
  }

  /** Those that have not completed by now, looked at until all have or so long. */
  async unfinished(withinMs: number): Promise<readonly string[]> {
    const giveUpMs = systemClock.monotonicMs() + withinMs;
    let open: readonly string[] = this.started;
    for (;;) {
      open = await this.#notCompleted(open);
      if (open.length === 0 || systemClock.monotonicMs() > giveUpMs) return open;
      await sleep(systemClock, LOOK_EVERY_MS);
    }
  }

  close(): void {
    this.#calls.close();
  }

  async #run(lane: number): Promise<void> {
    for (let n = 1; !this.#over; n += 1) {
      const workflowId = `thin-${lane}-${n}`;
      if (await this.#start(workflowId, 'once')) this.started.push(workflowId);
      await sleep(systemClock, PAUSE_MS);
      if (this.#open > 0 && (await this.#signal())) this.#signals += 1;
      await sleep(systemClock, PAUSE_MS);
    }
  }

  #start(workflowId: string, type: 'open' | 'once'): Promise<boolean> {
    return this.#call('thin start', () =>
      this.#calls.call(
        'StartWorkflowExecution',
        {
          ...{ namespace: this.#namespace, workflowId, requestId: systemRng.uuid() },
          ...{ workflowType: { name: type }, taskQueue: { name: THIN_QUEUE } },
        },
        { timeoutMs: DEADLINE_MS },
      ),
    );
  }

  /** To any of the open runs. */
  #signal(): Promise<boolean> {
    const n = 1 + Math.floor(systemRng.fraction() * this.#open);
    return this.#call('thin signal', () =>
      this.#calls.call(
        'SignalWorkflowExecution',
        {
          ...{ namespace: this.#namespace, requestId: systemRng.uuid(), signalName: 'go' },
          workflowExecution: { workflowId: `thin-open-${n}` },
        },
        { timeoutMs: DEADLINE_MS },
      ),
    );
  }

  async #call(what: string, call: () => Promise<unknown>): Promise<boolean> {
    const at = systemClock.now();
    try {
      await call();
      return true;
    } catch (thrown) {
      const { code, message } = toAtollError(thrown);
      this.failed.push({ at: systemClock.now(), what, why: `${code}: ${message}` });
      return false;
    } finally {
      this.took.push({ at, ms: systemClock.now() - at });
    }
  }

  async #notCompleted(workflowIds: readonly string[]): Promise<readonly string[]> {
    const open: string[] = [];
    const waiting = workflowIds.values();
    const lane = async () => {
      for (const workflowId of waiting)
        if (!(await this.#isCompleted(workflowId))) open.push(workflowId);
    };
    await Promise.all(Array.from({ length: LOOKING }, lane));
    return open;
  }

  async #isCompleted(workflowId: string): Promise<boolean> {
    const ask = { namespace: this.#namespace, execution: { workflowId } };
    const { workflowExecutionInfo } = await this.#calls.call('DescribeWorkflowExecution', ask, {
      timeoutMs: DEADLINE_MS,
    });
    return Number(workflowExecutionInfo?.status) === WorkflowExecutionStatus.Completed;
  }
}
