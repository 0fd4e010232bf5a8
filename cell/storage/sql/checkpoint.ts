/**
 * A checkpoint of many shards as one statement (PROTOCOLS 3): no transaction ever waits for a client, however long
 * its process sleeps.
 *
 * The statement: `moved` moves each shard's checkpoint if range and old checkpoint are as its owner believes, and the
 * row that it moves to is the owner's own: a promoted standby may lack it, and hold somebody else's there. Every
 * write of a view asks `moved`, so a shard that did not move leaves no trace. The log is cut between what was cut
 * before (`shard` still shows its old rows inside the statement) and what the owner asks for, takeover rows excepted:
 * they are the fence.
 *
 * Invariants
 *  1. A view row is written only for a shard that moved in the same statement.
 *  2. Arrays are in shard order, so that two checkpoints never wait for each other in a circle.
 */
import type { Checkpoint, ShardId } from '../shard-log.ts';
import type { ViewBatch } from '../views.ts';
import { byteaArray, int4Array, int8Array } from './binary-array.ts';
import type { Statement } from './connection.ts';
import {
  EXECUTIONS,
  HISTORY,
  LEDGER,
  OF_EXECUTION,
  OF_RUN,
  RUNS,
  TASKS,
  TIMERS,
  type Column,
  type Placed,
  type ViewTable,
} from './view-tables.ts';

/** One part of the statement: its text, once the number of parameters before it is known, and its parameters. */
type Part = {
  readonly name: string;
  readonly parameters: number;
  readonly text: (firstParameter: number) => string;
  readonly values: (batch: readonly Checkpoint[]) => readonly Buffer[];
};

/**
 * Evaluated once to an array: a join could read the unnested rows again for every shard. The reference is what makes
 * a write depend on `moved`.
 */
const HAS_MOVED = 'v.shard_id = ANY (ARRAY(SELECT shard_id FROM moved))';

function put<Row>(view: ViewTable<Row>, rows: (views: ViewBatch) => readonly Row[]): Part {
  const columns = [...view.key, ...view.rest];
  return {
    name: `put_${view.table}`,
    parameters: columns.length,
    text: (first) => `
      INSERT INTO ${view.table} (${names(columns)})
      SELECT ${names(columns)} FROM unnest(${parameters(columns, first)}) AS v(${names(columns)})
      WHERE ${HAS_MOVED}
      ON CONFLICT (${names(view.key)}) DO UPDATE SET
        ${view.rest.map(({ name }) => `${name} = excluded.${name}`).join(', ')}`,
    values: (batch) => encode(columns, placed(batch, rows)),
  };
}

function drop<Row>(view: ViewTable<Row>, rows: (views: ViewBatch) => readonly Row[]): Part {
  return { ...dropOf(view.table, view.key, rows), name: `drop_${view.table}` };
}

/** Deletes all rows of a table whose keys begin so. */
function dropOf<Row>(
  table: string,
  key: readonly Column<Row>[],
  rows: (views: ViewBatch) => readonly Row[],
): Part {
  return {
    name: `gone_${table}`,
    parameters: key.length,
    text: (first) => `
      DELETE FROM ${table} gone
      USING unnest(${parameters(key, first)}) AS v(${names(key)})
      WHERE ${HAS_MOVED} AND ${key.map(({ name }) => `gone.${name} = v.${name}`).join(' AND ')}`,
    values: (batch) => encode(key, placed(batch, rows)),
  };
}

const PARTS: readonly Part[] = [
  put(RUNS, (views) => views.runs),
  put(EXECUTIONS, (views) => views.executions),
  put(LEDGER, (views) => views.ledger.put),
  drop(LEDGER, (views) => views.ledger.drop),
  put(HISTORY, (views) => views.history),
  put(TIMERS, (views) => views.timers.put),
  drop(TIMERS, (views) => views.timers.drop),
  put(TASKS, (views) => views.tasks.put),
  drop(TASKS, (views) => views.tasks.drop),
];

/** Hardly ever anything: a statement of its own, so that no other pays for it. */
const PARTS_WITH_GONE: readonly Part[] = [
  ...PARTS,
  ...['run', 'history', 'task'].map((table) => dropOf(table, OF_RUN, ({ gone }) => gone.runs)),
  ...['execution', 'ledger'].map((table) =>
    dropOf(table, OF_EXECUTION, ({ gone }) => gone.executions),
  ),
];

/** An array of the wire has no null of ours: empty stands for "as it was". */
const NO_NOTES = new Uint8Array(0);

const OWN_PARAMETERS = 6;
const PLAIN = { name: 'checkpoint', parts: PARTS, text: statementText(PARTS) };
const WITH_GONE = {
  name: 'checkpoint-with-gone',
  parts: PARTS_WITH_GONE,
  text: statementText(PARTS_WITH_GONE),
};

function statementText(parts: readonly Part[]): string {
  let first = OWN_PARAMETERS + 1;
  const writes = parts.map((part) => {
    const text = `${part.name} AS (${part.text(first)})`;
    first += part.parameters;
    return text;
  });
  return `
    WITH wanted AS (
      SELECT * FROM unnest($1::int4[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::bytea[])
        AS w(shard_id, range_id, from_seq, to_seq, delete_to, notes)
    ), moved AS (
      UPDATE shard s
      SET checkpoint_seq = w.to_seq, deleted_seq = greatest(s.deleted_seq, w.delete_to),
        notes = CASE WHEN octet_length(w.notes) > 0 THEN w.notes ELSE s.notes END
      FROM wanted w
      WHERE s.shard_id = w.shard_id AND s.range_id = w.range_id AND s.checkpoint_seq = w.from_seq
        AND (w.to_seq = w.from_seq OR EXISTS (
          SELECT 1 FROM shard_log l
          WHERE l.shard_id = w.shard_id AND l.seq = w.to_seq AND l.range_id = w.range_id))
      RETURNING s.shard_id, w.delete_to
    ), ${writes.join(', ')}, bounds AS MATERIALIZED (
      SELECT moved.shard_id, before.deleted_seq, moved.delete_to
      FROM moved JOIN shard before ON before.shard_id = moved.shard_id
    ), cut AS (
      DELETE FROM shard_log l USING bounds
      WHERE l.shard_id = bounds.shard_id AND l.seq > bounds.deleted_seq AND l.seq <= bounds.delete_to
        AND NOT l.takeover
    )
    SELECT shard_id FROM moved`;
}

/** The statement that checkpoints these shards; its rows name those that moved. */
export function checkpointStatement(batch: readonly Checkpoint[]): Statement {
  const ordered = batch.toSorted((a, b) => a.shard - b.shard);
  const isPlain = batch.every(
    ({ views: { gone } }) => gone.runs.length + gone.executions.length === 0,
  );
  const { name, parts, text } = isPlain ? PLAIN : WITH_GONE;
  return {
    name,
    text,
    values: [
      int4Array(ordered.map(({ shard }) => shard)),
      int8Array(ordered.map(({ range }) => range)),
      int8Array(ordered.map(({ from }) => from)),
      int8Array(ordered.map(({ to }) => to)),
      int8Array(ordered.map(({ deleteTo }) => deleteTo)),
      byteaArray(ordered.map(({ notes }) => notes ?? NO_NOTES)),
      ...parts.flatMap((part) => part.values(ordered)),
    ],
  };
}

export type MovedRow = { readonly shard_id: ShardId };

function placed<Row>(
  batch: readonly Checkpoint[],
  rows: (views: ViewBatch) => readonly Row[],
): readonly Placed<Row>[] {
  return batch.flatMap(({ shard, views }) => rows(views).map((row) => ({ shard, row })));
}

function encode<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Placed<Row>[],
): readonly Buffer[] {
  return columns.map((column) => column.encode(rows));
}

function names(columns: readonly { readonly name: string }[], prefix = ''): string {
  return columns.map(({ name }) => `${prefix}${name}`).join(', ');
}

function parameters(columns: readonly { readonly type: string }[], first: number): string {
  return columns.map(({ type }, index) => `$${first + index}::${type}[]`).join(', ');
}
