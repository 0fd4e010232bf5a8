/**
 * What a checkpoint of one shard writes (PROTOCOLS 3): the committed states of what changed since the last one, as view
 * rows. Timers and tasks that came and went in between never touch a table (D2).
 *
 * Invariants
 *  1. Rows reflect committed batches only, up to `to`.
 *  2. `finish` runs only after the store took the plan; what changed meanwhile stays dirty.
 */
import { pendingWork } from '../history/history.ts';
import { encodeState } from '../history/state-codec.ts';
import type { RunState } from '../history/state.ts';
import type { Checkpoint } from '../storage/shard-log.ts';
import type {
  ExecutionRow,
  HistoryRow,
  LedgerRow,
  RunRow,
  TaskRow,
  TimerRow,
  ViewBatch,
} from '../storage/views.ts';
import { encodeBlob } from './blob.ts';
import type { CachedExecution, CachedRun } from './cached.ts';
import type { NumberedEntry } from './ledger-memory.ts';
import type { Ownership } from './ownership.ts';
import { workRows } from './shard-memory.ts';

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
  const { shard, range, checkpoint: from, committed: to } = ownership;
  if (from === to && ownership.dirtyRuns.size === 0 && ownership.dirtyExecutions.size === 0) {
    return undefined;
  }
  const rows = noRows();
  const settled = [
    ...[...ownership.dirtyRuns].map((run) =>
      planRun(ownership, run, rows, options.recentHistoryBytes),
    ),
    ...[...ownership.dirtyExecutions].map((execution) => planExecution(ownership, execution, rows)),
  ];
  return {
    checkpoint: { shard, range, from, to, deleteTo: to, views: viewBatch(rows) },
    finish: () => {
      for (const settle of settled) settle();
      ownership.checkpointed(to);
    },
  };
}

function planRun(
  ownership: Ownership,
  run: CachedRun,
  rows: Rows,
  recentBytes: number,
): () => void {
  const state = run.committed;
  if (!state) return () => {};
  const { ref } = run;
  rows.runs.push({
    ...ref,
    seq: run.committedSeq,
    open: state.closedAt === undefined,
    state: encodeBlob(encodeState(state)),
  });
  const lastEventId = state.nextEventId - 1;
  const history = unsavedHistory(run, lastEventId);
  if (history) rows.history.push(history);
  const work = workRows(pendingWork(state));
  if (run.indexWanted > run.indexed) work.set('i', undefined);
  diffWork(run, work, rows);
  return () => {
    run.savedEventId = lastEventId;
    run.storedWork = work;
    dropOldChunks(run, recentBytes);
    if (run.committed !== state) return;
    run.dirty = false;
    ownership.dirtyRuns.delete(run);
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
  return { ...run.ref, firstEventId: first.first, lastEventId, events };
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

/** Keeps the newest saved events, to serve sticky workers and paged readers without a read. */
function dropOldChunks(run: CachedRun, recentBytes: number): void {
  let bytes = 0;
  let keepFrom = run.chunks.length;
  while (keepFrom > 0) {
    const chunk = run.chunks[keepFrom - 1];
    if (!chunk) break;
    bytes += chunk.events.length;
    if (chunk.last <= run.savedEventId && bytes > recentBytes) break;
    keepFrom -= 1;
  }
  if (keepFrom > 0) run.chunks = run.chunks.slice(keepFrom);
}

function planExecution(ownership: Ownership, execution: CachedExecution, rows: Rows): () => void {
  const { namespaceId, workflowId, committedCurrent, ledgerPuts, ledgerDrops } = execution;
  if (!committedCurrent) return () => {};
  const key = { namespaceId, workflowId };
  const ledgerRow = ({ ordinal, entry }: NumberedEntry): LedgerRow => ({
    ...key,
    requestId: entry.requestId,
    ordinal,
    entry: encodeBlob(entry),
  });
  rows.executions.push({ ...key, seq: ownership.committed, pointer: encodeBlob(committedCurrent) });
  rows.ledgerPut.push(...ledgerPuts.map(ledgerRow));
  rows.ledgerDrop.push(...ledgerDrops.map(ledgerRow));
  const puts = ledgerPuts.length;
  const drops = ledgerDrops.length;
  return () => {
    execution.ledgerPuts = execution.ledgerPuts.slice(puts);
    execution.ledgerDrops = execution.ledgerDrops.slice(drops);
    if (execution.committedCurrent !== committedCurrent || execution.ledgerPuts.length > 0) return;
    execution.dirty = false;
    ownership.dirtyExecutions.delete(execution);
  };
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

function viewBatch(rows: Rows): ViewBatch {
  return {
    runs: rows.runs,
    executions: rows.executions,
    ledger: { put: rows.ledgerPut, drop: rows.ledgerDrop },
    history: rows.history,
    timers: { put: rows.timersPut, drop: rows.timersDrop },
    tasks: { put: rows.tasksPut, drop: rows.tasksDrop },
  };
}
