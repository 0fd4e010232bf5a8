/** Losses in memory, all of which a checker can read: the port tells those since the newest failover only. */
import type { Loss } from '../../../cell/shard/replicas/loss.ts';
import { MemoryLosses } from '../../../replication/memory/losses.ts';

export class KeptLosses extends MemoryLosses {
  readonly #kept = new Map<string, Loss>();

  override async add(losses: readonly Loss[]): Promise<void> {
    await super.add(losses);
    for (const loss of losses) this.#kept.set(`${loss.epoch}/${loss.execution.runId}`, loss);
  }

  all(): readonly Loss[] {
    return [...this.#kept.values()];
  }
}
