/**
 * The loss report (D9): per execution, what a forced failover rolled back, applied again, or may have run twice. Plain
 * data; `loss-report-text.ts` makes Markdown of it.
 */

/** What became of an execution whose branch lost (the table of PROTOCOLS 9). */
export type LossOutcome =
  /** Events after the common ancestor are not in the winning branch. */
  | 'rolled-back'
  /** Known to the loser alone, its id was free: it goes on. */
  | 'adopted'
  /** Known to the loser alone, its id was taken since: closed there. */
  | 'superseded'
  /** Closed on the loser, open on the winner: it goes on. */
  | 'reopened'
  /** Signals for a run that is closed on the winner. */
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
  /** Ids of activities that the losing branch had started or completed: they may run again. */
  readonly mayHaveRunTwice: readonly string[];
};

export type LossReport = {
  readonly namespaceId: string;
  /** The epoch that won. */
  readonly epoch: number;
  readonly executions: readonly LostExecution[];
  /** More than this report holds (`reportLimit`). */
  readonly omitted: number;
};
