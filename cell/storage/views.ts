/**
 * The views of a shard's log (D2): executions, runs, histories, timers, tasks. Written only by `ShardLog.checkpoint`,
 * read through `ShardViews`. Every blob begins with its format version (D17).
 *
 * Invariants
 *  1. A row reflects committed batches only, and a run row says up to which seq (PROTOCOLS 2.4, 3).
 *  2. Timer and task rows are derived from run rows: they can be dropped by exact key and made again (D5).
 */
import type { Seq, ShardId } from './ids.ts';

/** Names a workflow id inside a shard. Namespace ids are UUIDs; workflow ids any text without NUL. */
export type ExecutionKey = { readonly namespaceId: string; readonly workflowId: string };
export type RunKey = ExecutionKey & { readonly runId: string };

export type RunRow = RunKey & {
  /** The seq that the row reflects; replay skips records at or below it. */
  readonly seq: Seq;
  /** Open runs are what the scanner walks. */
  readonly open: boolean;
  /** `cell/history` state, encoded. */
  readonly state: Uint8Array;
};

/** The pointer to the current run (D15); the ledger has rows of its own. */
export type ExecutionRow = ExecutionKey & { readonly seq: Seq; readonly pointer: Uint8Array };

/** One remembered request (D15). `ordinal` grows per workflow id: the order of eviction. */
export type LedgerRow = ExecutionKey & {
  readonly requestId: string;
  readonly ordinal: number;
  readonly entry: Uint8Array;
};

/** Encoded events `firstEventId … lastEventId`, as concatenated field-1 entries of `temporal.api.history.v1.History`. */
export type HistoryRow = RunKey & {
  readonly firstEventId: number;
  readonly lastEventId: number;
  readonly events: Uint8Array;
};

/** A pending clock of an open run. `work` is the derived key of the work item that is due. */
export type TimerRow = RunKey & { readonly dueAt: number; readonly work: string };

/** A pending task (or unacknowledged index write) of a run. `work` is the derived key of the work item. */
export type TaskRow = RunKey & { readonly work: string };

/** What one checkpoint of one shard writes. Puts replace a row of the same key; drops of absent rows are harmless; no key is both. */
export type ViewBatch = {
  readonly runs: readonly RunRow[];
  readonly executions: readonly ExecutionRow[];
  readonly ledger: { readonly put: readonly LedgerRow[]; readonly drop: readonly LedgerRow[] };
  readonly history: readonly HistoryRow[];
  readonly timers: { readonly put: readonly TimerRow[]; readonly drop: readonly TimerRow[] };
  readonly tasks: { readonly put: readonly TaskRow[]; readonly drop: readonly TaskRow[] };
  /** Goes with all that is stored under its key, whoever wrote it; absent ones are harmless. */
  readonly gone: {
    /** Run rows, histories and tasks. */
    readonly runs: readonly RunKey[];
    /** Pointers and ledgers. */
    readonly executions: readonly ExecutionKey[];
  };
};

/** A page's continuation: pass it back unchanged; absent = the end. */
export type Page<Row> = { readonly rows: readonly Row[]; readonly next?: string | undefined };

export interface ShardViews {
  /** Run rows in the order of `keys`; undefined where there is none. One statement for all. */
  runs(
    keys: readonly (RunKey & { readonly shard: ShardId })[],
    signal: AbortSignal,
  ): Promise<readonly (RunRow | undefined)[]>;

  /** Pointer and whole ledger (by ordinal) in the order of `keys`. */
  executions(
    keys: readonly (ExecutionKey & { readonly shard: ShardId })[],
    signal: AbortSignal,
  ): Promise<
    readonly ({ readonly row: ExecutionRow; readonly ledger: readonly LedgerRow[] } | undefined)[]
  >;

  /** History rows that hold events >= fromEventId, by event id, until `maxBytes` is reached (at least one row if any). */
  history(
    shard: ShardId,
    run: RunKey,
    range: { readonly fromEventId: number; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<readonly HistoryRow[]>;

  /** The earliest timers, by due time, after the page position. */
  timers(
    shard: ShardId,
    page: { readonly after?: string | undefined; readonly limit: number },
    signal: AbortSignal,
  ): Promise<Page<TimerRow>>;

  /** Pending tasks after the page position. */
  tasks(
    shard: ShardId,
    page: { readonly after?: string | undefined; readonly limit: number },
    signal: AbortSignal,
  ): Promise<Page<TaskRow>>;

  /** Runs of a namespace, open and closed, whose row reflects a later seq: for copies and comparisons. */
  runsOf(
    shard: ShardId,
    of: { readonly namespaceId: string; readonly afterSeq: Seq },
    page: { readonly after?: string | undefined; readonly limit: number },
    signal: AbortSignal,
  ): Promise<Page<RunRow>>;

  /** Open runs, for the scanner. */
  openRuns(
    shard: ShardId,
    page: { readonly after?: string | undefined; readonly limit: number },
    signal: AbortSignal,
  ): Promise<Page<RunRow>>;
}
