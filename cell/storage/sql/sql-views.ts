/**
 * `ShardViews` on PostgreSQL: reads of what checkpoints wrote, each by primary key.
 *
 * Invariants
 *  1. One method call is one snapshot, except that a long stretch of history is read in several statements: its rows
 *     never change once they are there.
 *  2. The namespace is part of every key, and the workflow id of a run is compared too: a run id of somebody else finds
 *     nothing.
 */
import type { Seq, ShardId } from '../shard-log.ts';
import type {
  ExecutionKey,
  ExecutionRow,
  HistoryRow,
  LedgerRow,
  Page,
  RunKey,
  RunRow,
  ShardViews,
  TaskRow,
  TimerRow,
} from '../views.ts';
import { int4Array, textArray, uuidArray } from './binary-array.ts';
import type { Runner } from './ownership.ts';
import { decodeCursor, encodeCursor, NIL_UUID } from './cursor.ts';
import { keyOf } from './view-tables.ts';

const HISTORY_ROWS_A_STATEMENT = 256;

const RUN_ROWS = `
  SELECT (asked.ordinal - 1)::int4 AS index, r.seq, r.open, r.state
  FROM unnest($1::int4[], $2::uuid[], $3::uuid[], $4::text[])
    WITH ORDINALITY AS asked(shard_id, namespace_id, run_id, workflow_id, ordinal)
  JOIN run r ON r.shard_id = asked.shard_id AND r.namespace_id = asked.namespace_id
    AND r.run_id = asked.run_id AND r.workflow_id = asked.workflow_id`;

const EXECUTION_ROWS = `
  WITH asked AS (
    SELECT * FROM unnest($1::int4[], $2::uuid[], $3::uuid[])
      WITH ORDINALITY AS a(shard_id, namespace_id, workflow_key, ordinal))
  SELECT (asked.ordinal - 1)::int4 AS index, e.seq, NULL AS request_id, 0::int8 AS ordinal, e.pointer AS blob
  FROM asked JOIN execution e ON e.shard_id = asked.shard_id AND e.namespace_id = asked.namespace_id
    AND e.workflow_key = asked.workflow_key
  UNION ALL
  SELECT (asked.ordinal - 1)::int4, NULL, l.request_id, l.ordinal, l.entry
  FROM asked JOIN ledger l ON l.shard_id = asked.shard_id AND l.namespace_id = asked.namespace_id
    AND l.workflow_key = asked.workflow_key`;

const HISTORY_ROWS = `
  SELECT first_event_id, last_event_id, events FROM (
    SELECT first_event_id, last_event_id, events,
      sum(octet_length(events)) OVER (ORDER BY first_event_id) AS bytes,
      row_number() OVER (ORDER BY first_event_id) AS place
    FROM (
      SELECT first_event_id, last_event_id, events FROM history
      WHERE shard_id = $1 AND namespace_id = $2 AND run_id = $3 AND last_event_id >= $4
        AND first_event_id >= coalesce((SELECT max(first_event_id) FROM history
          WHERE shard_id = $1 AND namespace_id = $2 AND run_id = $3 AND first_event_id <= $4), 0)
      ORDER BY first_event_id LIMIT ${HISTORY_ROWS_A_STATEMENT}
    ) AS stretch
  ) AS measured
  WHERE bytes <= $5 OR place = 1 ORDER BY first_event_id`;

const TIMER_ROWS = `
  SELECT due_at, namespace_id, run_id, work_key, workflow_id, work FROM timer
  WHERE shard_id = $1 AND (due_at, namespace_id, run_id, work_key) > ($2, $3::uuid, $4::uuid, $5::uuid)
  ORDER BY due_at, namespace_id, run_id, work_key LIMIT $6`;

const TASK_ROWS = `
  SELECT namespace_id, run_id, work_key, workflow_id, work FROM task
  WHERE shard_id = $1 AND (namespace_id, run_id, work_key) > ($2::uuid, $3::uuid, $4::uuid)
  ORDER BY namespace_id, run_id, work_key LIMIT $5`;

// Closed runs are passed over on the way: an index of open runs would cost a second write with every start and close.
const OPEN_RUN_ROWS = `
  SELECT namespace_id, run_id, workflow_id, seq, state FROM run
  WHERE shard_id = $1 AND (namespace_id, run_id) > ($2::uuid, $3::uuid) AND open
  ORDER BY namespace_id, run_id LIMIT $4`;

const RUN_ROWS_OF = `
  SELECT namespace_id, run_id, workflow_id, seq, open, state FROM run
  WHERE shard_id = $1 AND namespace_id = $2::uuid AND run_id > $3::uuid AND seq > $4
  ORDER BY namespace_id, run_id LIMIT $5`;

type PageRequest = { readonly after?: string | undefined; readonly limit: number };
type RunColumns = { namespace_id: string; run_id: string; workflow_id: string };
type WorkColumns = RunColumns & { work_key: string; work: string };

export class SqlViews implements ShardViews {
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  async runs(
    keys: readonly (RunKey & { readonly shard: ShardId })[],
    signal: AbortSignal,
  ): Promise<readonly (RunRow | undefined)[]> {
    const values = [
      int4Array(keys.map(({ shard }) => shard)),
      uuidArray(keys.map(({ namespaceId }) => namespaceId)),
      uuidArray(keys.map(({ runId }) => runId)),
      textArray(keys.map(({ workflowId }) => workflowId)),
    ];
    const rows = await this.#runner.run<{ index: number; seq: Seq; open: boolean; state: Buffer }>(
      { name: 'runs', text: RUN_ROWS, values },
      signal,
    );
    const found = new Map(rows.map((row) => [row.index, row]));
    return keys.map(({ namespaceId, workflowId, runId }, index) => {
      const row = found.get(index);
      if (!row) return undefined;
      const { seq, open, state } = row;
      return { namespaceId, workflowId, runId, seq, open, state };
    });
  }

  async executions(
    keys: readonly (ExecutionKey & { readonly shard: ShardId })[],
    signal: AbortSignal,
  ): Promise<
    readonly ({ readonly row: ExecutionRow; readonly ledger: readonly LedgerRow[] } | undefined)[]
  > {
    const values = [
      int4Array(keys.map(({ shard }) => shard)),
      uuidArray(keys.map(({ namespaceId }) => namespaceId)),
      uuidArray(keys.map(({ workflowId }) => keyOf(workflowId))),
    ];
    const rows = await this.#runner.run<ExecutionPiece>(
      { name: 'executions', text: EXECUTION_ROWS, values },
      signal,
    );
    const pieces = keys.map((): ExecutionPiece[] => []);
    for (const row of rows) pieces[row.index]?.push(row);
    return keys.map(({ namespaceId, workflowId }, index) =>
      assemble({ namespaceId, workflowId }, pieces[index] ?? []),
    );
  }

  async history(
    shard: ShardId,
    run: RunKey,
    range: { readonly fromEventId: number; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<readonly HistoryRow[]> {
    const { namespaceId, workflowId, runId } = run;
    const found: HistoryRow[] = [];
    let { fromEventId, maxBytes } = range;
    for (;;) {
      const rows = await this.#runner.run<HistoryColumns>(
        {
          name: 'history',
          text: HISTORY_ROWS,
          values: [shard, namespaceId, runId, fromEventId, maxBytes],
        },
        signal,
      );
      for (const { first_event_id, last_event_id, events } of rows) {
        // Only the first row of all may be larger than what was asked for.
        if (found.length > 0 && events.length > maxBytes) return found;
        maxBytes -= events.length;
        fromEventId = last_event_id + 1;
        found.push({
          namespaceId,
          workflowId,
          runId,
          firstEventId: first_event_id,
          lastEventId: last_event_id,
          events,
        });
      }
      if (rows.length < HISTORY_ROWS_A_STATEMENT || maxBytes <= 0) return found;
    }
  }

  async timers(shard: ShardId, page: PageRequest, signal: AbortSignal): Promise<Page<TimerRow>> {
    const after = decodeCursor(page.after, ['-1', NIL_UUID, NIL_UUID, NIL_UUID]);
    const rows = await this.#runner.run<WorkColumns & { due_at: number }>(
      { name: 'timers', text: TIMER_ROWS, values: [shard, ...after, page.limit] },
      signal,
    );
    return pageOf(rows, page.limit, {
      row: (row) => ({ ...runKeyOf(row), dueAt: row.due_at, work: row.work }),
      cursor: (row) => [`${row.due_at}`, row.namespace_id, row.run_id, row.work_key],
    });
  }

  async tasks(shard: ShardId, page: PageRequest, signal: AbortSignal): Promise<Page<TaskRow>> {
    const after = decodeCursor(page.after, [NIL_UUID, NIL_UUID, NIL_UUID]);
    const rows = await this.#runner.run<WorkColumns>(
      { name: 'tasks', text: TASK_ROWS, values: [shard, ...after, page.limit] },
      signal,
    );
    return pageOf(rows, page.limit, {
      row: (row) => ({ ...runKeyOf(row), work: row.work }),
      cursor: (row) => [row.namespace_id, row.run_id, row.work_key],
    });
  }

  async runsOf(
    shard: ShardId,
    { namespaceId, afterSeq }: { readonly namespaceId: string; readonly afterSeq: Seq },
    page: PageRequest,
    signal: AbortSignal,
  ): Promise<Page<RunRow>> {
    const after = decodeCursor(page.after, [NIL_UUID]);
    const rows = await this.#runner.run<RunColumns & { seq: Seq; open: boolean; state: Buffer }>(
      {
        name: 'runs-of',
        text: RUN_ROWS_OF,
        values: [shard, namespaceId, ...after, afterSeq, page.limit],
      },
      signal,
    );
    return pageOf(rows, page.limit, {
      row: (row) => ({ ...runKeyOf(row), seq: row.seq, open: row.open, state: row.state }),
      cursor: (row) => [row.run_id],
    });
  }

  async openRuns(shard: ShardId, page: PageRequest, signal: AbortSignal): Promise<Page<RunRow>> {
    const after = decodeCursor(page.after, [NIL_UUID, NIL_UUID]);
    const rows = await this.#runner.run<RunColumns & { seq: Seq; state: Buffer }>(
      { name: 'open-runs', text: OPEN_RUN_ROWS, values: [shard, ...after, page.limit] },
      signal,
    );
    return pageOf(rows, page.limit, {
      row: (row) => ({ ...runKeyOf(row), seq: row.seq, open: true, state: row.state }),
      cursor: (row) => [row.namespace_id, row.run_id],
    });
  }
}

/** A pointer (request id null), or one row of its ledger. */
type ExecutionPiece = {
  readonly index: number;
  readonly seq: Seq;
  readonly request_id: string | null;
  readonly ordinal: number;
  readonly blob: Buffer;
};

type HistoryColumns = { first_event_id: number; last_event_id: number; events: Buffer };

function assemble(
  key: ExecutionKey,
  pieces: readonly ExecutionPiece[],
): { readonly row: ExecutionRow; readonly ledger: readonly LedgerRow[] } | undefined {
  const pointer = pieces.find(({ request_id }) => request_id === null);
  if (!pointer) return undefined;
  const ledger = pieces.flatMap(({ request_id, ordinal, blob }): LedgerRow[] =>
    request_id === null ? [] : [{ ...key, requestId: request_id, ordinal, entry: blob }],
  );
  return {
    row: { ...key, seq: pointer.seq, pointer: pointer.blob },
    ledger: ledger.sort((a, b) => a.ordinal - b.ordinal),
  };
}

function runKeyOf({ namespace_id, workflow_id, run_id }: RunColumns): RunKey {
  return { namespaceId: namespace_id, workflowId: workflow_id, runId: run_id };
}

/** A full page has a next one, which may turn out empty. */
function pageOf<Columns, Row>(
  rows: readonly Columns[],
  limit: number,
  as: {
    readonly row: (row: Columns) => Row;
    readonly cursor: (row: Columns) => readonly string[];
  },
): Page<Row> {
  const last = rows.at(-1);
  return {
    rows: rows.map(as.row),
    next: last && rows.length === limit ? encodeCursor(as.cursor(last)) : undefined,
  };
}
