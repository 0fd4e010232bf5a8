/** The pointer to a workflow id's current run, and the entries of its ledger (D15). Pure data. */
import type { WorkflowExecutionStatus } from '../../wire/enums.ts';

/** What a start must know of the latest run without loading it: open or closed, and how it ended. */
export type CurrentRun = {
  /** The epoch in which the pointer was set so. */
  readonly epoch: number;
  readonly runId: string;
  readonly firstRunId: string;
  readonly status: WorkflowExecutionStatus;
  /** Request id of the start that made the chain. */
  readonly startRequestId: string;
  readonly startedAt: number;
  readonly closedAt?: number | undefined;
};

/**
 * Whether a pointer was set before another one. An epoch has one writer, who starts a run only when the one before it has
 * ended, and whose clock does not go back (D16).
 */
export function isOlderPointer(a: CurrentRun, b: CurrentRun): boolean {
  if (a.epoch !== b.epoch) return a.epoch < b.epoch;
  if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt;
  const [aOpen, bOpen] = [a.closedAt === undefined, b.closedAt === undefined];
  return a.runId === b.runId ? aOpen && !bOpen : !aOpen && bOpen;
}

export type LedgerKind = 'start' | 'signal' | 'cancel' | 'update' | 'options';

/** One request that was acknowledged: a repeat of it is answered from here and changes nothing. */
export type LedgerEntry = {
  readonly requestId: string;
  readonly kind: LedgerKind;
  /** The run that took it. */
  readonly runId: string;
  readonly at: number;
};

/**
 * Whether a request stays with the run that is known to have taken it, though another one took it as well: two cells did, each
 * in its epoch. Whatever order they come in, every cell keeps the later.
 */
export function staysTaken(known: LedgerEntry | undefined, entry: LedgerEntry): boolean {
  if (!known) return false;
  return known.at === entry.at ? known.runId > entry.runId : known.at > entry.at;
}

/** What a transition changes beside its run. Applied in order; a later pointer replaces an earlier one. */
export type ExecutionChange = {
  readonly current?: CurrentRun | undefined;
  readonly ledger?: readonly LedgerEntry[] | undefined;
};
