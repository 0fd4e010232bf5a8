/**
 * A light load beside the kills: lanes that signal runs which stay open and start and finish others, through the official
 * client, with a log of what the engine acknowledged and of what failed.
 *
 * Invariants
 *  1. Nothing is repeated: a call that failed is a failed call, and what it asked for may or may not have happened.
 *  2. A line is in the log only after the engine's answer.
 */
import type { Client } from '@temporalio/client';
import { sleep, systemClock } from '../../../kernel/clock.ts';
import { systemRng } from '../../../kernel/rng.ts';
import type { Acknowledged } from '../../gameday/load.ts';
import { add, finish } from './workflows.ts';

export const TASK_QUEUE = 'moved';
/** What a client allows for a call: held or not, it is answered in it. */
const DEADLINE_MS = 10_000;
const STARTING = 16;

/** A call that failed: from when to when, ms since 1970. */
export type FailedCall = {
  readonly from: number;
  readonly to: number;
  readonly what: string;
  readonly why: string;
};

export type LoadOptions = {
  /** Runs that stay open. */
  readonly open: number;
  /** Lanes, each with a call at a time. */
  readonly lanes: number;
  /** Between two calls of a lane. */
  readonly pauseMs: number;
  readonly workflow: 'working' | 'dwelling';
  /** Before each workflow id, where several loads follow one another. */
  readonly prefix?: string | undefined;
};

type OpenRun = { readonly workflowId: string; readonly runId: string };

export class Load {
  readonly log: Acknowledged[] = [];
  readonly failed: FailedCall[] = [];
  readonly #client: Client;
  readonly #options: LoadOptions;
  readonly #open: OpenRun[] = [];
  #lanes: readonly Promise<void>[] = [];
  #over = false;
  #tokens = 0;

  constructor(client: Client, options: LoadOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Starts runs that stay open, then the lanes. */
  async begin(): Promise<void> {
    const { open, lanes } = this.#options;
    let next = 0;
    const starting = async () => {
      while (next < open) {
        next += 1;
        const run = await this.#start(`open-${next}`);
        if (run === undefined) throw new Error(`a run could not be started: ${this.#lastFailure}`);
        this.#open.push(run);
      }
    };
    await Promise.all(Array.from({ length: STARTING }, starting));
    this.#lanes = Array.from({ length: lanes }, (_, lane) => this.#run(lane));
  }

  /** Resolves when the last call has its answer. */
  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#lanes);
  }

  /** Signals so many of the open runs, all at once: resolves with how many were acknowledged. */
  async knock(count: number): Promise<number> {
    const runs = Array.from({ length: count }, () => this.#someOpen());
    const knocked = await Promise.all(runs.map((run) => this.#signal(run)));
    return knocked.filter(Boolean).length;
  }

  get #lastFailure(): string {
    return this.failed.at(-1)?.why ?? 'no reason';
  }

  async #run(lane: number): Promise<void> {
    for (let n = 1; !this.#over; n += 1) {
      const run = await this.#start(`passing-${lane}-${n}`);
      for (let k = 0; k < 3 && !this.#over; k += 1) {
        await sleep(systemClock, this.#options.pauseMs);
        await this.#signal(run !== undefined && k === 0 ? run : this.#someOpen());
      }
      if (run !== undefined) {
        await this.#call('finish', () => this.#handle(run).signal(finish));
      }
      await sleep(systemClock, this.#options.pauseMs);
    }
  }

  async #start(name: string): Promise<OpenRun | undefined> {
    const workflowId = `${this.#options.prefix ?? ''}${name}`;
    const handle = await this.#call('start', () =>
      this.#client.workflow.start(this.#options.workflow, { workflowId, taskQueue: TASK_QUEUE }),
    );
    if (handle === undefined) return undefined;
    const run = { workflowId, runId: handle.firstExecutionRunId };
    this.log.push({ at: systemClock.now(), what: 'start', ...run });
    return run;
  }

  async #signal(run: OpenRun): Promise<boolean> {
    this.#tokens += 1;
    const token = `${run.workflowId}/${this.#tokens}`;
    const sent = await this.#call('signal', () =>
      this.#handle(run)
        .signal(add, token)
        .then(() => true),
    );
    if (sent === undefined) return false;
    this.log.push({ at: systemClock.now(), what: 'signal', ...run, token });
    return true;
  }

  #handle({ workflowId, runId }: OpenRun) {
    return this.#client.workflow.getHandle(workflowId, runId);
  }

  #someOpen(): OpenRun {
    const run = this.#open[Math.floor(systemRng.fraction() * this.#open.length)];
    if (run === undefined) throw new Error('no run is open');
    return run;
  }

  async #call<Value>(what: string, run: () => Promise<Value>): Promise<Value | undefined> {
    const from = systemClock.now();
    try {
      return await this.#client.withDeadline(from + DEADLINE_MS, run);
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      this.failed.push({ from, to: systemClock.now(), what, why: String(cause) });
      return undefined;
    }
  }
}
