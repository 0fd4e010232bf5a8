/**
 * How the rows of the views lie in their tables: column by column, for the checkpoint to write.
 *
 * Place: `checkpoint.ts` makes its statement and its parameters from these; the readers know the same names.
 *
 * Invariant: the columns of a key never hold text of unbounded length: an index row holds at most 2,704 bytes, and a
 * workflow id of 1,000 characters can be larger.
 */
import { createHash } from 'node:crypto';
import type {
  ExecutionKey,
  ExecutionRow,
  HistoryRow,
  LedgerRow,
  RunKey,
  RunRow,
  TaskRow,
  TimerRow,
} from '../views.ts';
import {
  boolArray,
  byteaArray,
  int4Array,
  int8Array,
  textArray,
  uuidArray,
} from './binary-array.ts';

/** A row and the shard that it belongs to. */
export type Placed<Row> = { readonly shard: number; readonly row: Row };

type Cells = {
  readonly int4: number;
  readonly int8: number;
  readonly bool: boolean;
  readonly text: string;
  readonly uuid: string | Uint8Array;
  readonly bytea: Uint8Array;
};

const ENCODERS: { readonly [Type in keyof Cells]: (values: readonly Cells[Type][]) => Buffer } = {
  int4: int4Array,
  int8: int8Array,
  bool: boolArray,
  text: textArray,
  uuid: uuidArray,
  bytea: byteaArray,
};

/** One column: its name, its type, and its value in each of the rows, encoded as an array. */
export type Column<Row> = {
  readonly name: string;
  readonly type: keyof Cells;
  readonly encode: (rows: readonly Placed<Row>[]) => Buffer;
};

export type ViewTable<Row> = {
  readonly table: string;
  readonly key: readonly Column<Row>[];
  readonly rest: readonly Column<Row>[];
};

/** 16 bytes that stand for a text in a key. */
export function keyOf(text: string): Uint8Array {
  return createHash('sha256').update(text).digest().subarray(0, 16);
}

function column<Row, Type extends keyof Cells>(
  name: string,
  type: Type,
  value: (row: Row) => Cells[Type],
): Column<Row> {
  return { name, type, encode: (rows) => ENCODERS[type](rows.map(({ row }) => value(row))) };
}

function shardColumn<Row>(): Column<Row> {
  return {
    name: 'shard_id',
    type: 'int4',
    encode: (rows) => int4Array(rows.map(({ shard }) => shard)),
  };
}

type Named = { readonly namespaceId: string };

function executionKey<Row extends Named & { readonly workflowId: string }>(): Column<Row>[] {
  return [
    shardColumn(),
    column('namespace_id', 'uuid', (row) => row.namespaceId),
    column('workflow_key', 'uuid', (row) => keyOf(row.workflowId)),
  ];
}

function runKey<Row extends Named & { readonly runId: string }>(): Column<Row>[] {
  return [
    column('namespace_id', 'uuid', (row) => row.namespaceId),
    column('run_id', 'uuid', (row) => row.runId),
  ];
}

/** What all rows of a run have in front of their keys. */
export const OF_RUN: readonly Column<RunKey>[] = [shardColumn(), ...runKey<RunKey>()];
/** What all rows of a workflow id have in front of their keys. */
export const OF_EXECUTION: readonly Column<ExecutionKey>[] = executionKey<ExecutionKey>();

export const RUNS: ViewTable<RunRow> = {
  table: 'run',
  key: [shardColumn(), ...runKey<RunRow>()],
  rest: [
    column('seq', 'int8', (row) => row.seq),
    column('open', 'bool', (row) => row.open),
    column('workflow_id', 'text', (row) => row.workflowId),
    column('state', 'bytea', (row) => row.state),
  ],
};

export const EXECUTIONS: ViewTable<ExecutionRow> = {
  table: 'execution',
  key: executionKey<ExecutionRow>(),
  rest: [
    column('seq', 'int8', (row) => row.seq),
    column('workflow_id', 'text', (row) => row.workflowId),
    column('pointer', 'bytea', (row) => row.pointer),
  ],
};

export const LEDGER: ViewTable<LedgerRow> = {
  table: 'ledger',
  key: [...executionKey<LedgerRow>(), column('request_key', 'uuid', (row) => keyOf(row.requestId))],
  rest: [
    column('ordinal', 'int8', (row) => row.ordinal),
    column('request_id', 'text', (row) => row.requestId),
    column('entry', 'bytea', (row) => row.entry),
  ],
};

export const HISTORY: ViewTable<HistoryRow> = {
  table: 'history',
  key: [
    shardColumn(),
    ...runKey<HistoryRow>(),
    column('first_event_id', 'int8', (row) => row.firstEventId),
  ],
  rest: [
    column('last_event_id', 'int8', (row) => row.lastEventId),
    column('events', 'bytea', (row) => row.events),
  ],
};

export const TIMERS: ViewTable<TimerRow> = {
  table: 'timer',
  key: [
    shardColumn(),
    column('due_at', 'int8', (row) => row.dueAt),
    ...runKey<TimerRow>(),
    column('work_key', 'uuid', (row) => keyOf(row.work)),
  ],
  rest: [
    column('workflow_id', 'text', (row) => row.workflowId),
    column('work', 'text', (row) => row.work),
  ],
};

export const TASKS: ViewTable<TaskRow> = {
  table: 'task',
  key: [shardColumn(), ...runKey<TaskRow>(), column('work_key', 'uuid', (row) => keyOf(row.work))],
  rest: [
    column('workflow_id', 'text', (row) => row.workflowId),
    column('work', 'text', (row) => row.work),
  ],
};
