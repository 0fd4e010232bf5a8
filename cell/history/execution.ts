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

/** The pointer to a run that it says is open, once that run is known to have ended; undefined where that tells nothing new. */
export function endedWith(
  known: CurrentRun,
  run: Pick<CurrentRun, 'runId' | 'status' | 'closedAt'>,
): CurrentRun | undefined {
  if (known.runId !== run.runId || known.closedAt !== undefined) return undefined;
  if (run.closedAt === undefined) return undefined;
  return { ...known, status: run.status, closedAt: run.closedAt };
}

export type LedgerKind = 'start' | 'signal' | 'cancel' | 'update' | 'options';

/** One request that was acknowledged: a repeat of it is answered from here and changes nothing. */
export type LedgerEntry = {
  readonly requestId: string;
  readonly kind: LedgerKind;
  /** The run that took it. */
  readonly runId: string;
  readonly at: number;
  /** Said anew by the end of a run that had taken the request, too, in this epoch. */
  readonly epoch?: number | undefined;
};

/**
 * Whether a request stays with the run that is known to have taken it, though another one took it as well: two cells did, each
 * in its epoch. Whatever order they come in, every cell keeps the later; of what was said anew, what a later epoch said.
 */
export function staysTaken(known: LedgerEntry | undefined, entry: LedgerEntry): boolean {
  if (!known) return false;
  if (known.at !== entry.at) return known.at > entry.at;
  const [said = 0, saidNow = 0] = [known.epoch, entry.epoch];
  return said === saidNow ? known.runId > entry.runId : said > saidNow;
}

/** Whether the end of that run said it: the run had taken the request of its start as well, and gave way (PROTOCOLS 9). */
export function isSaidByEnd(
  run: {
    readonly runId: string;
    readonly epoch: number;
    readonly start: { readonly requestId: string };
    readonly closedAt?: number | undefined;
  },
  { requestId, runId, epoch }: LedgerEntry,
): boolean {
  if (run.closedAt === undefined || epoch !== run.epoch) return false;
  return requestId === run.start.requestId && runId !== run.runId;
}

/** What a transition changes beside its run. Applied in order; a later pointer replaces an earlier one. */
export type ExecutionChange = {
  readonly current?: CurrentRun | undefined;
  readonly ledger?: readonly LedgerEntry[] | undefined;
};
