/**
 * The port to what forced failovers cost (D9): per execution whose branch lost here, kept so that the loss report survives a
 * restart. A PostgreSQL and a memory adapter; one conformance suite.
 *
 * Promises
 *  1. A loss is durable when `add` resolves; one of the same run and epoch replaces the earlier one.
 *  2. `list` gives what was kept since the newest failover that lost anything, by workflow id: a piece of an older branch
 *     that came only after a later move does not hide the rest.
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
  /** The losses since that failover, the epoch it began (0: nothing was lost), and how many there are in all. */
  list(
    ask: { readonly namespaceId: string; readonly limit: number },
    signal: AbortSignal,
  ): Promise<{
    readonly epoch: number;
    readonly executions: readonly LostExecution[];
    readonly total: number;
  }>;
}

/**
 * The epoch that began with the failover which cost this. A planned move brings everything of its epoch, so what lost was
 * parted by the change behind its own epoch, however late it was heard of. Pure.
 */
export function failoverOf({ epoch, execution }: Loss): number {
  return Math.min(execution.transitions.epoch + 1, epoch);
}
