/**
 * The tables of a shard in memory, and what a statement does to them.
 *
 * Place: `MemoryDatabase` keeps them; each statement changes them through a `Changes`, so that it can be undone: a
 * promoted standby has not seen the newest statements.
 *
 * Invariant: a statement happens whole and at one moment; nothing here waits.
 */
import { invariant } from '../../../kernel/invariant.ts';
import type { Checkpoint, LogRow, RangeId, Seq } from '../shard-log.ts';
import type {
  ExecutionKey,
  ExecutionRow,
  HistoryRow,
  LedgerRow,
  RunKey,
  RunRow,
  TaskRow,
  TimerRow,
  ViewBatch,
} from '../views.ts';

export type StoredRow = LogRow & { readonly storedAt: number };

export type ShardTables = {
  readonly head: Map<'head', ShardHead>;
  readonly log: Map<number, StoredRow>;
  readonly runs: Map<string, RunRow>;
  readonly executions: Map<string, ExecutionRow>;
  /** By execution, then by request. */
  readonly ledger: Map<string, Map<string, LedgerRow>>;
  /** By run, then by first event. */
  readonly history: Map<string, Map<string, HistoryRow>>;
  readonly timers: Map<string, TimerRow>;
  readonly tasks: Map<string, TaskRow>;
};

/** The shard's own row. */
export type ShardHead = {
  readonly range: RangeId;
  readonly checkpoint: Seq;
  /** The log was cut up to here. */
  readonly deleted: Seq;
  readonly notes?: Uint8Array | undefined;
};

export function emptyTables(): ShardTables {
  const head: ShardHead = { range: 0 as RangeId, checkpoint: 0 as Seq, deleted: 0 as Seq };
  return {
    head: new Map([['head', head]]),
    log: new Map(),
    runs: new Map(),
    executions: new Map(),
    ledger: new Map(),
    history: new Map(),
    timers: new Map(),
    tasks: new Map(),
  };
}

export function headOf(tables: ShardTables): ShardHead {
  const head = tables.head.get('head');
  invariant(head !== undefined, 'a shard has a row of its own');
  return head;
}

/** The changes of one statement, newest last. */
export class Changes {
  readonly #undos: (() => void)[] = [];

  get empty(): boolean {
    return this.#undos.length === 0;
  }

  set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    this.#remember(map, key);
    map.set(key, value);
  }

  delete<Key, Value>(map: Map<Key, Value>, key: Key): void {
    if (!map.has(key)) return;
    this.#remember(map, key);
    map.delete(key);
  }

  undo(): void {
    for (const undo of this.#undos.toReversed()) undo();
  }

  #remember<Key, Value>(map: Map<Key, Value>, key: Key): void {
    const before = map.get(key);
    this.#undos.push(before === undefined ? () => map.delete(key) : () => map.set(key, before));
  }
}

// A NUL cannot be part of an id, so that no two keys run into each other; the order of a key's parts is that of its pages.
const BETWEEN = '\0';

export function executionKey({ namespaceId, workflowId }: ExecutionKey): string {
  return [namespaceId, workflowId, ''].join(BETWEEN);
}

export function runKey({ namespaceId, runId, workflowId }: RunKey): string {
  return [namespaceId, runId, workflowId, ''].join(BETWEEN);
}

export function timerKey(row: TimerRow): string {
  return sortable(row.dueAt) + BETWEEN + runKey(row) + row.work;
}

export function taskKey(row: TaskRow): string {
  return runKey(row) + row.work;
}

function sortable(value: number): string {
  return String(value).padStart(16, '0');
}

/**
 * PROTOCOLS 3, for one shard; false if range or old checkpoint are not as the owner believes, or the row that it moves
 * to is not the owner's (a promoted standby lacked it).
 */
export function applyCheckpoint(
  tables: ShardTables,
  { range, from, to, deleteTo, views, notes = headOf(tables).notes }: Checkpoint,
  changes: Changes,
): boolean {
  const head = headOf(tables);
  if (head.range !== range || head.checkpoint !== from) return false;
  if (to > from && tables.log.get(to)?.range !== range) return false;
  const deleted = deleteTo > head.deleted ? deleteTo : head.deleted;
  changes.set(tables.head, 'head', { range, checkpoint: to, deleted, notes });
  writeViews(tables, views, changes);
  for (const row of tables.log.values()) {
    if (row.seq > head.deleted && row.seq <= deleteTo && !row.takeover) {
      changes.delete(tables.log, row.seq);
    }
  }
  return true;
}

function writeViews(tables: ShardTables, views: ViewBatch, changes: Changes): void {
  const { runs, executions, ledger, history, timers, tasks } = tables;
  write({ put: views.runs, drop: [] }, (row) => [runs, runKey(row)], changes);
  write({ put: views.executions, drop: [] }, (row) => [executions, executionKey(row)], changes);
  const inLedger = (row: LedgerRow) => [inner(ledger, executionKey(row)), row.requestId] as const;
  write(views.ledger, inLedger, changes);
  const inHistory = (row: HistoryRow) =>
    [inner(history, runKey(row)), sortable(row.firstEventId)] as const;
  write({ put: views.history, drop: [] }, inHistory, changes);
  write(views.timers, (row) => [timers, timerKey(row)], changes);
  write(views.tasks, (row) => [tasks, taskKey(row)], changes);
  for (const key of views.gone.runs) {
    const prefix = runKey(key);
    changes.delete(runs, prefix);
    changes.delete(history, prefix);
    for (const task of tasks.keys()) if (task.startsWith(prefix)) changes.delete(tasks, task);
  }
  for (const key of views.gone.executions) {
    changes.delete(executions, executionKey(key));
    changes.delete(ledger, executionKey(key));
  }
}

/** An inner table that stays behind when its statement is undone holds nothing, and does no harm. */
function inner<Row>(outer: Map<string, Map<string, Row>>, key: string): Map<string, Row> {
  const table = outer.get(key) ?? new Map<string, Row>();
  outer.set(key, table);
  return table;
}

type Place<Row> = readonly [table: Map<string, Row>, key: string];

/** A database refuses one statement that writes a row twice, or leaves open which wins: so is it here. */
function write<Row>(
  { put, drop }: { readonly put: readonly Row[]; readonly drop: readonly Row[] },
  placeOf: (row: Row) => Place<Row>,
  changes: Changes,
): void {
  const written = new Map<Map<string, Row>, Set<string>>();
  for (const row of put) {
    const [table, key] = placeOf(row);
    const keys = written.get(table) ?? new Set();
    invariant(!keys.has(key), 'one checkpoint puts the same view row twice');
    written.set(table, keys.add(key));
    changes.set(table, key, row);
  }
  for (const row of drop) {
    const [table, key] = placeOf(row);
    invariant(!written.get(table)?.has(key), 'one checkpoint puts and drops the same view row');
    changes.delete(table, key);
  }
}
