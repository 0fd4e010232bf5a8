/**
 * The load of a game day: lanes that start workflows and signal them through the official client, and a log of what the
 * engine acknowledged, which is what it is held to.
 *
 * Invariants
 *  1. Nothing is repeated: a call that failed is a failed call, and what it asked for may or may not have happened.
 *  2. A line is in the log only after the engine's answer.
 */
import type { Client } from '@temporalio/client';
import { sleep, systemClock } from '../../kernel/clock.ts';
import { add, collecting, finish } from './workflows.ts';

export const TASK_QUEUE = 'gameday';
/** What a client allows for a call. */
const DEADLINE_MS = 10_000;
const SIGNALS = 5;
const PAUSE_MS = 60;
const AFTER_FAILURE_MS = 100;

/** One acknowledged write. */
export type Acknowledged = {
  /** When its answer came, ms since 1970. */
  readonly at: number;
  readonly what: 'start' | 'signal';
  readonly workflowId: string;
  readonly runId: string;
  /** Of a signal: what it carried, unique. */
  readonly token?: string | undefined;
};

export type Failed = { readonly at: number; readonly what: string; readonly why: string };

/** A call that was answered, well or not: when it began, and how long it took, ms. */
export type Took = { readonly at: number; readonly ms: number };

export class Load {
  readonly log: Acknowledged[] = [];
  readonly failed: Failed[] = [];
  readonly took: Took[] = [];
  readonly #client: Client;
  readonly #attempts: number;
  readonly #lanes: readonly Promise<void>[];
  #over = false;

  /** `attempts` of each activity; 0: as many as it takes. */
  constructor(client: Client, { lanes, attempts }: { lanes: number; attempts: number }) {
    this.#client = client;
    this.#attempts = attempts;
    this.#lanes = Array.from({ length: lanes }, (_, lane) => this.#run(lane));
  }

  /** Resolves when the last call has its answer. */
  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#lanes);
  }

  /** The first acknowledgement of a call at or after this time. */
  firstSince(at: number): Acknowledged | undefined {
    return this.log.find((line) => line.at >= at);
  }

  async #run(lane: number): Promise<void> {
    let before: string | undefined;
    for (let n = 1; !this.#over; n += 1) {
      const workflowId = `gameday-${lane}-${n}`;
      if (!(await this.#startAndSignal(workflowId))) {
        await sleep(systemClock, AFTER_FAILURE_MS);
        continue;
      }
      // One stays open in each lane while the next is under way.
      if (before !== undefined) await this.#finish(before);
      before = workflowId;
    }
  }

  async #startAndSignal(workflowId: string): Promise<boolean> {
    const handle = await this.#call('start', () =>
      this.#client.workflow.start(collecting, {
        ...{ workflowId, taskQueue: TASK_QUEUE, args: [this.#attempts] },
      }),
    );
    if (handle === undefined) return false;
    const run = { workflowId, runId: handle.firstExecutionRunId };
    this.log.push({ at: systemClock.now(), what: 'start', ...run });
    for (let k = 1; k <= SIGNALS && !this.#over; k += 1) {
      await sleep(systemClock, PAUSE_MS);
      const token = `${workflowId}/${k}`;
      const sent = await this.#call('signal', () => handle.signal(add, token).then(() => true));
      if (sent) this.log.push({ at: systemClock.now(), what: 'signal', ...run, token });
    }
    return true;
  }

  async #finish(workflowId: string): Promise<void> {
    await this.#call('finish', () => this.#client.workflow.getHandle(workflowId).signal(finish));
  }

  async #call<Value>(what: string, run: () => Promise<Value>): Promise<Value | undefined> {
    const began = systemClock.now();
    try {
      return await this.#client.withDeadline(began + DEADLINE_MS, run);
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      this.failed.push({ at: systemClock.now(), what, why: String(cause) });
      return undefined;
    } finally {
      this.took.push({ at: began, ms: systemClock.now() - began });
    }
  }
}
