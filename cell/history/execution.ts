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
  /**
   * The run of which the end gave the id back to this one, in this epoch (PROTOCOLS 9): taken back where that end loses. Of no
   * digest.
   */
  readonly by?: string | undefined;
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
  /** That run: the ends of two runs may say the same, and one of them lose. */
  readonly by?: string | undefined;
  /**
   * What else is known of the request, each by itself: the largest counts once the branch that says this one has lost. Of a
   * cell's memory, views and images; no transition says it, and no digest.
   */
  readonly covered?: readonly LedgerEntry[] | undefined;
};

/** Runs that took one request: it takes a failover within the lag, or the end of its keeping, for one more. */
const MOST_COVERED = 8;

/**
 * Whether a request stays with the run that is known to have taken it, though another one took it as well: two cells did, each
 * in its epoch. Whatever order they come in, every cell keeps the later; of what was said anew, what a later epoch said.
 */
export function staysTaken(known: LedgerEntry | undefined, entry: LedgerEntry): boolean {
  if (!known) return false;
  if (known.at !== entry.at) return known.at > entry.at;
  const [said = 0, saidNow = 0] = [known.epoch, entry.epoch];
  if (said !== saidNow) return said > saidNow;
  if (known.runId !== entry.runId) return known.runId > entry.runId;
  return (known.by ?? '') > (entry.by ?? '');
}

/** All that the entry knows of its request, each by itself. */
export function singly({ covered = [], ...entry }: LedgerEntry): readonly LedgerEntry[] {
  return [entry, ...covered];
}

/** What both know of the request; `known` itself where the other one tells nothing new. */
export function joined(known: LedgerEntry | undefined, other: LedgerEntry): LedgerEntry {
  if (!known) return other;
  const before = singly(known);
  const news = singly(other).filter((entry) => !before.some((one) => isSameEntry(one, entry)));
  if (news.length === 0) return known;
  const [first, ...covered] = [...news, ...before].toSorted(laterFirst);
  return { ...(first ?? other), covered: covered.slice(0, MOST_COVERED) };
}

function laterFirst(a: LedgerEntry, b: LedgerEntry): number {
  if (staysTaken(a, b)) return -1;
  return staysTaken(b, a) ? 1 : 0;
}

/** Whether both say the same, whatever else they know. */
export function isSameEntry(a: LedgerEntry, b: LedgerEntry): boolean {
  return (
    a.requestId === b.requestId &&
    a.runId === b.runId &&
    a.kind === b.kind &&
    a.at === b.at &&
    a.epoch === b.epoch &&
    a.by === b.by
  );
}

/** Whether the end of that run said it: the run had taken the request of its start as well, and gave way (PROTOCOLS 9). */
export function isSaidByEnd(
  run: {
    readonly runId: string;
    readonly epoch: number;
    readonly start: { readonly requestId: string };
    readonly closedAt?: number | undefined;
  },
  { requestId, runId, epoch, by = run.runId }: LedgerEntry,
): boolean {
  if (run.closedAt === undefined || epoch !== run.epoch || by !== run.runId) return false;
  return requestId === run.start.requestId && runId !== run.runId;
}

/** What a transition changes beside its run. Applied in order; a later pointer replaces an earlier one. */
export type ExecutionChange = {
  readonly current?: CurrentRun | undefined;
  readonly ledger?: readonly LedgerEntry[] | undefined;
};
