/** Losses in memory: for cells in memory, tests and the simulator. Bounded per namespace. */
import type { LostExecution } from '../../cell/shard/replicas/loss.ts';
import type { Loss } from '../../cell/shard/replicas/loss.ts';
import { failoverOf, type Losses } from '../losses/losses.ts';

const MAX_LOSSES = 100_000;

export class MemoryLosses implements Losses {
  readonly #losses = new Map<string, Loss>();

  async add(losses: readonly Loss[]): Promise<void> {
    for (const loss of losses) {
      const key = keyOf({ ...loss, ...loss.execution });
      if (this.#losses.size < MAX_LOSSES || this.#losses.has(key)) this.#losses.set(key, loss);
    }
  }

  async find(of: {
    readonly namespaceId: string;
    readonly epoch: number;
    readonly workflowId: string;
    readonly runId: string;
  }): Promise<LostExecution | undefined> {
    return this.#losses.get(keyOf(of))?.execution;
  }

  async list(ask: { readonly namespaceId: string; readonly limit: number }): Promise<{
    readonly epoch: number;
    readonly executions: readonly LostExecution[];
    readonly total: number;
  }> {
    const mine = [...this.#losses.values()].filter((one) => one.namespaceId === ask.namespaceId);
    const epoch = mine.reduce((newest, one) => Math.max(newest, failoverOf(one)), 0);
    const since = mine.filter((one) => one.epoch >= epoch).sort(inOrder);
    const executions = since.slice(0, ask.limit).map(({ execution }) => execution);
    return { epoch, executions, total: since.length };
  }
}

function keyOf(of: {
  readonly namespaceId: string;
  readonly epoch: number;
  readonly workflowId: string;
  readonly runId: string;
}): string {
  return JSON.stringify([of.namespaceId, of.epoch, of.workflowId, of.runId]);
}

function inOrder(a: Loss, b: Loss): number {
  const [x, y] = [a.execution, b.execution];
  return compare(x.workflowId, y.workflowId) || compare(x.runId, y.runId) || a.epoch - b.epoch;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
