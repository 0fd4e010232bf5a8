/** The columns of the table `visibility`, their types, and how a row of the index becomes values of theirs. */
import { createHash } from 'node:crypto';
import { encodeCbor } from '../../../wire/cbor.ts';
import type { IndexRow } from '../../history/work.ts';
import {
  byteaArray,
  int4Array,
  int8Array,
  textArray,
  uuidArray,
} from '../../storage/sql/binary-array.ts';

export type Column = {
  readonly name: string;
  readonly type: 'uuid' | 'int4' | 'int8' | 'text' | 'bytea';
  /** One column of many rows as an array parameter. Arrays hold no nulls: see `absent`. */
  readonly array: (rows: readonly IndexRow[]) => Buffer;
  /** The element that stands for null, in SQL. */
  readonly absent?: string;
};

/** Never a time of ours, so it can stand for "not closed". */
const NO_TIME = -1;

/** The key columns first. */
export const COLUMNS: readonly Column[] = [
  uuid('namespace_id', (row) => row.namespaceId),
  uuid('run_id', (row) => row.runId),
  int8('version', (row) => row.version),
  uuid('workflow_key', (row) => workflowKey(row.workflowId)),
  text('workflow_id', (row) => row.workflowId),
  text('workflow_type', (row) => row.workflowType),
  text('task_queue', (row) => row.taskQueue),
  { name: 'status', type: 'int4', array: (rows) => int4Array(rows.map((row) => row.status)) },
  int8('started_at', (row) => row.startedAt),
  int8('execution_at', (row) => row.executionAt),
  { ...int8('closed_at', (row) => row.closedAt ?? NO_TIME), absent: String(NO_TIME) },
  int8('history_length', (row) => row.historyLength),
  int8('history_bytes', (row) => row.historyBytes),
  uuid('first_run_id', (row) => row.firstRunId),
  blob('memo', (row) => row.memo),
  blob('search_attributes', (row) => row.searchAttributes),
];

/** The indexed form of a workflow id. */
export function workflowKey(workflowId: string): Uint8Array {
  return createHash('sha256').update(workflowId).digest().subarray(0, 16);
}

function uuid(name: string, value: (row: IndexRow) => string | Uint8Array): Column {
  return { name, type: 'uuid', array: (rows) => uuidArray(rows.map(value)) };
}

function int8(name: string, value: (row: IndexRow) => number): Column {
  return { name, type: 'int8', array: (rows) => int8Array(rows.map(value)) };
}

function text(name: string, value: (row: IndexRow) => string): Column {
  return { name, type: 'text', array: (rows) => textArray(rows.map(value)) };
}

function blob(name: string, value: (row: IndexRow) => unknown): Column {
  const encode = (row: IndexRow) => {
    const plain = value(row);
    return plain === undefined ? new Uint8Array(0) : encodeCbor(plain);
  };
  return {
    name,
    type: 'bytea',
    array: (rows) => byteaArray(rows.map(encode)),
    absent: "''::bytea",
  };
}
