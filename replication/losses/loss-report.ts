/**
 * The loss report (D9): per execution, what a forced failover rolled back, applied again, or may have run twice. Plain
 * data; `loss-report-text.ts` makes Markdown of it.
 */
import type { LostExecution } from '../../cell/shard/replicas/loss.ts';

export type LossReport = {
  readonly namespaceId: string;
  /** The epoch that won. */
  readonly epoch: number;
  readonly executions: readonly LostExecution[];
  /** More than this report holds (`reportLimit`). */
  readonly omitted: number;
};
