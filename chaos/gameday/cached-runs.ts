/**
 * Runs that the worker has in its cache when the cell dies, with a task completed that the replica never hears of. After the
 * failover each gets one signal, and nothing else that could wake it: a worker that went on from what it remembers would
 * pass over it.
 */
import type { Client } from '@temporalio/client';
import { systemClock } from '../../kernel/clock.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { TASK_QUEUE } from './load.ts';
import { add, collecting, finish } from './workflows.ts';

const RUNS = 20;
const ENDS_WITHIN_MS = 20_000;

export class CachedRuns {
  readonly #client: Client;
  readonly #ids = Array.from({ length: RUNS }, (_, n) => `cached-${n}`);

  constructor(client: Client) {
    this.#client = client;
  }

  async start(): Promise<void> {
    const { workflow } = this.#client;
    await this.#each((workflowId) =>
      workflow.start(collecting, { workflowId, taskQueue: TASK_QUEUE, args: [0] }),
    );
  }

  /** While the replica hears nothing. */
  async goOn(): Promise<void> {
    await this.#each((id) => this.#client.workflow.getHandle(id).signal(add, `${id}/lost`));
  }

  /** Lets each end. Returns how many did not in time, of how many. */
  async end(): Promise<{ readonly stuck: readonly string[]; readonly runs: number }> {
    await this.#each((id) => this.#client.workflow.getHandle(id).signal(finish));
    const stuck: string[] = [];
    const deadline = { what: 'the end of a run', timeoutMs: ENDS_WITHIN_MS };
    await this.#each((id) =>
      withDeadline(systemClock, deadline, () => this.#client.workflow.getHandle(id).result()).catch(
        () => void stuck.push(id),
      ),
    );
    return { stuck, runs: RUNS };
  }

  async #each(ask: (id: string) => Promise<unknown>): Promise<void> {
    await Promise.all(this.#ids.map(ask));
  }
}
