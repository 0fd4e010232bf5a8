/**
 * A transition: one atomic step of one run (P4), the unit of the log, of replay and of replication. The shell
 * batches many into a record; those of one decision are never split over two records.
 */
import type { ExecutionChange } from './execution.ts';
import type { Change } from './patch.ts';
import type { EpochMs } from './state.ts';

export type Transition = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
  /** From 1 per run, without gaps. */
  readonly number: number;
  readonly epoch: number;
  /**
   * Epoch of the transition before this one, where it is another. An epoch has one writer, so (number, epoch) names a
   * transition with all that lies before it: a replica applies it only on top of its like (PROTOCOLS 7).
   */
  readonly previousEpoch?: number | undefined;
  /** max(clock, the shard's last record, the run's last transition) (D16). */
  readonly at: EpochMs;
  readonly changes: readonly Change[];
  readonly execution?: ExecutionChange | undefined;
};
