/**
 * What a checkpoint of one shard writes (PROTOCOLS 3): the committed states of what changed since the last one, as view
 * rows. Timers and tasks that came and went in between never touch a table (D2).
 *
 * Invariants
 *  1. Rows reflect committed batches only, up to `to`.
 *  2. `finish` runs only after the store took the plan; what changed meanwhile stays dirty.
 */
import type { Checkpoint, Seq } from '../../storage/shard-log.ts';
import type {
  ExecutionRow,
  HistoryRow,
  LedgerRow,
  RunRow,
  TaskRow,
  TimerRow,
  ViewBatch,
} from '../../storage/views.ts';
import { encodeBlob } from '../blob.ts';
import type { CachedExecution, CachedRun } from '../runs/cached.ts';
import type { NumberedEntry } from '../runs/ledger-memory.ts';
import type { Ownership } from '../ownership.ts';
import type { Removed } from '../runs/removed-runs.ts';
import type { RunBook } from '../runs/run-book.ts';
import { encodeRun, INDEX_WORK, workRows } from './work-rows.ts';

export type CheckpointPlan = {
  readonly checkpoint: Checkpoint;
  /** Settles the memory after the store took it. */
  finish(): void;
};

type Rows = {
  readonly runs: RunRow[];
  readonly executions: ExecutionRow[];
  readonly ledgerPut: LedgerRow[];
  readonly ledgerDrop: LedgerRow[];
  readonly history: HistoryRow[];
  readonly timersPut: TimerRow[];
  readonly timersDrop: TimerRow[];
  readonly tasksPut: TaskRow[];
  readonly tasksDrop: TaskRow[];
};

/** Undefined when the views are up to date. */
export function planCheckpoint(
  ownership: Ownership,
  options: { readonly recentHistoryBytes: number },
): CheckpointPlan | undefined {
  const { shard, range, book, memory } = ownership;
  const { checkpoint: from, committed: to } = ownership.log;
  if (from === to && book.clean) return undefined;
  const rows = noRows();
  const settled: Settle[] = [];
  for (const run of book.dirtyRuns) settled.push(planRun(book, run, { rows, ...options }));
  for (const execution of book.dirtyExecutions) {
    settled.push(planExecution(book, execution, { rows, to }));
  }
  const removed = memory.removed.all();
  const gone = goneRows(removed);
  for (const { timers } of removed) rows.timersDrop.push(...timers);
  // Positions only grow: what is noted must not lie below what is cut.
  const deleteTo = ownership.releasable(to);
  const notes = ownership.notes();
  const kept = notes === undefined ? {} : { notes };
  return {
    checkpoint: { shard, range, from, to, deleteTo, views: { ...viewBatch(rows), gone }, ...kept },
    finish: () => {
      const save = memory.saved();
      for (const settle of settled) settle(save);
      memory.removed.settle(removed);
      ownership.checkpointed(to);
    },
  };
}

function goneRows(removed: readonly Removed[]): ViewBatch['gone'] {
  const removals = removed.map(({ removal }) => removal);
  return {
    runs: removals.flatMap(({ namespaceId, workflowId, runId, historyIds }) =>
      [...new Set([runId, ...historyIds])].map((id) => ({ namespaceId, workflowId, runId: id })),
    ),
    executions: removals
      .filter(({ execution }) => execution)
      .map(({ namespaceId, workflowId }) => ({ namespaceId, workflowId })),
  };
}

/** Settles one entry after the store took the checkpoint of this number. */
type Settle = (save: number) => void;

function planRun(
  book: RunBook,
  run: CachedRun,
  plan: { readonly rows: Rows; readonly recentHistoryBytes: number },
): Settle {
  const { rows } = plan;
  const state = run.committed;
  if (!state) return () => {};
  const { ref } = run;
  const open = state.closedAt === undefined;
  rows.runs.push({ ...ref, seq: run.committedSeq, open, state: encodeRun(state, run.branch) });
  const lastEventId = state.nextEventId - 1;
  const history = unsavedHistory(run, lastEventId);
  if (history) rows.history.push(history);
  const { lostChunks } = run;
  for (const { historyId, chunk } of lostChunks) {
    const range = { firstEventId: chunk.first, lastEventId: chunk.last };
    rows.history.push({ ...ref, runId: historyId, ...range, events: chunk.events });
  }
  const work = workRows(state);
  if (run.indexWanted > run.indexed) work.set(INDEX_WORK, undefined);
  diffWork(run, work, rows);
  const { branch } = run;
  return (save) => {
    run.savedIn = save;
    run.storedWork = work;
    run.lostChunks = run.lostChunks.slice(lostChunks.length);
    // Another branch was adopted meanwhile: none of its events are saved.
    if (run.branch === branch) {
      run.savedEventId = lastEventId;
      // Of a closed run only its end is asked for, by those who wait for its result.
      dropOldChunks(run, open ? plan.recentHistoryBytes : 0);
    }
    const indexedSince = work.has(INDEX_WORK) && run.indexed >= run.indexWanted;
    if (run.committed !== state || indexedSince) return;
    run.dirty = false;
    book.dirtyRuns.delete(run);
  };
}

function unsavedHistory(run: CachedRun, lastEventId: number): HistoryRow | undefined {
  const unsaved = run.chunks.filter(
    (chunk) => chunk.first > run.savedEventId && chunk.last <= lastEventId,
  );
  const first = unsaved[0];
  if (!first) return undefined;
  const events =
    unsaved.length === 1 ? first.events : Buffer.concat(unsaved.map((chunk) => chunk.events));
  const key = { ...run.ref, runId: run.branch.historyId };
  return { ...key, firstEventId: first.first, lastEventId, events };
}

function diffWork(run: CachedRun, work: ReadonlyMap<string, number | undefined>, rows: Rows): void {
  for (const [key, dueAt] of work) {
    if (run.storedWork.has(key) && run.storedWork.get(key) === dueAt) continue;
    if (dueAt === undefined) rows.tasksPut.push({ ...run.ref, work: key });
    else rows.timersPut.push({ ...run.ref, work: key, dueAt });
  }
  for (const [key, dueAt] of run.storedWork) {
    if (work.has(key) && work.get(key) === dueAt) continue;
    if (dueAt === undefined) rows.tasksDrop.push({ ...run.ref, work: key });
    else rows.timersDrop.push({ ...run.ref, work: key, dueAt });
  }
}

/** Keeps the newest saved events (at least the last), to serve sticky workers and paged readers without a read. */
function dropOldChunks(run: CachedRun, recentBytes: number): void {
  let bytes = 0;
  let keepFrom = run.chunks.length;
  while (keepFrom > 0) {
    const chunk = run.chunks[keepFrom - 1];
    if (!chunk) break;
    bytes += chunk.events.length;
    const isLast = keepFrom === run.chunks.length;
    if (chunk.last <= run.savedEventId && bytes > recentBytes && !isLast) break;
    keepFrom -= 1;
  }
  if (keepFrom > 0) run.chunks = run.chunks.slice(keepFrom);
}

function planExecution(
  book: RunBook,
  execution: CachedExecution,
  plan: { readonly rows: Rows; readonly to: Seq },
): Settle {
  const { namespaceId, workflowId, committedCurrent } = execution;
  if (!committedCurrent) return () => {};
  const key = { namespaceId, workflowId };
  const ledgerRow = ({ ordinal, entry }: NumberedEntry): LedgerRow => ({
    ...key,
    requestId: entry.requestId,
    ordinal,
    entry: encodeBlob(entry),
  });
  const puts = [...execution.ledgerPuts.values()];
  const drops = [...execution.ledgerDrops.values()];
  plan.rows.executions.push({ ...key, seq: plan.to, pointer: encodeBlob(committedCurrent) });
  plan.rows.ledgerPut.push(...puts.map(ledgerRow));
  plan.rows.ledgerDrop.push(...drops.map(ledgerRow));
  return (save) => {
    execution.savedIn = save;
    forget(execution.ledgerPuts, puts);
    forget(execution.ledgerDrops, drops);
    const more = execution.ledgerPuts.size + execution.ledgerDrops.size;
    if (execution.committedCurrent !== committedCurrent || more > 0) return;
    execution.dirty = false;
    book.dirtyExecutions.delete(execution);
  };
}

/** Takes out what was written, unless a newer entry has taken its place. */
function forget(from: Map<string, NumberedEntry>, written: readonly NumberedEntry[]): void {
  for (const numbered of written) {
    const { requestId } = numbered.entry;
    if (from.get(requestId) === numbered) from.delete(requestId);
  }
}

function noRows(): Rows {
  return {
    runs: [],
    executions: [],
    ledgerPut: [],
    ledgerDrop: [],
    history: [],
    timersPut: [],
    timersDrop: [],
    tasksPut: [],
    tasksDrop: [],
  };
}

function viewBatch(rows: Rows): Omit<ViewBatch, 'gone'> {
  return {
    runs: rows.runs,
    executions: rows.executions,
    ledger: { put: rows.ledgerPut, drop: rows.ledgerDrop },
    history: rows.history,
    timers: { put: rows.timersPut, drop: rows.timersDrop },
    tasks: { put: rows.tasksPut, drop: rows.tasksDrop },
  };
}
