/**
 * The port to what forced failovers cost (D9): per execution whose branch lost here, kept until the namespace's next forced
 * failover, so that the loss report survives a restart. A PostgreSQL and a memory adapter; one conformance suite.
 *
 * Promises
 *  1. A loss is durable when `add` resolves; one of the same run and epoch replaces the earlier one.
 *  2. `list` gives the losses to the newest winning epoch, by workflow id.
 */
import type { Loss, LostExecution } from '../../cell/shard/replicas/loss.ts';

export interface Losses {
  add(losses: readonly Loss[], signal: AbortSignal): Promise<void>;
  /** The loss of that run and epoch; undefined: none. */
  find(
    of: {
      readonly namespaceId: string;
      readonly epoch: number;
      readonly workflowId: string;
      readonly runId: string;
    },
    signal: AbortSignal,
  ): Promise<LostExecution | undefined>;
  /** The newest epoch's losses, and how many there are in all. */
  list(
    ask: { readonly namespaceId: string; readonly limit: number },
    signal: AbortSignal,
  ): Promise<{
    readonly epoch: number;
    readonly executions: readonly LostExecution[];
    readonly total: number;
  }>;
}
