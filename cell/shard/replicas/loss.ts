/** What a forced failover cost, execution by execution (D9): plain data, told by the shards, kept and reported by lanes. */

/** What became of an execution whose branch lost (the table of PROTOCOLS 9). */
export type LossOutcome =
  /** Events after the common ancestor are not in the winning branch. */
  | 'rolled-back'
  /** Known to the loser alone, its id was free: it goes on. */
  | 'adopted'
  /** Known to the loser alone, its id was taken since: closed here. */
  | 'superseded'
  /** Closed on the loser, open on the winner: it goes on. */
  | 'reopened'
  /** Signals for a run that is closed on the winner, or takes no more of them. */
  | 'signal-undeliverable';

export type LostExecution = {
  readonly workflowId: string;
  readonly runId: string;
  readonly outcome: LossOutcome;
  /** Transitions of the losing branch: first and last number, and the epoch they were made in. */
  readonly transitions: { readonly from: number; readonly to: number; readonly epoch: number };
  /** Kinds of the events that were rolled back, in order; at most 100. */
  readonly rolledBack: readonly string[];
  /** Names of signals, and cancel requests, that were applied again. */
  readonly reapplied: readonly string[];
  /**
   * Ids of activities that the losing branch had started or completed: they may run again. Where an id is not known, which
   * event scheduled the activity in that branch.
   */
  readonly mayHaveRunTwice: readonly string[];
};

/** What a failover cost, of one execution; `epoch` is the one that won. */
export type Loss = {
  readonly namespaceId: string;
  readonly epoch: number;
  readonly execution: LostExecution;
};

/** Keeps losses for the report; the shards wait for it before they answer that something lost. */
export interface LossKeeper {
  /** What is kept of an execution by the epoch that won; undefined: nothing. */
  kept(loss: Pick<Loss, 'namespaceId' | 'epoch'> & RunName): Promise<LostExecution | undefined>;
  /** In the place of what was kept of it. Resolves once it is durable, or cannot be kept and the report says so. */
  keep(loss: Loss): Promise<void>;
}

type RunName = Pick<LostExecution, 'workflowId' | 'runId'>;

/** Keeps nothing: a host without replication. */
export const keepsNoLosses: LossKeeper = {
  kept: () => Promise.resolve(undefined),
  keep: () => Promise.resolve(),
};
