/**
 * Visibility in the cell's own database: one table, two secondary indexes (migrations/003).
 *
 * Invariants
 *  1. A bulk is one statement; a row with an older version changes nothing.
 *  2. Bulks lock rows in the order of their keys, so that two at once never wait for each other in a circle.
 */
import { invariant } from '../../../kernel/invariant.ts';
import { decodeCbor } from '../../../wire/cbor.ts';
import type { IndexRow } from '../../history/work.ts';
import type { Database } from '../../storage/sql/database.ts';
import { newestOfEach } from '../newest-of-each.ts';
import {
  MAX_BULK_ROWS,
  type CountRequest,
  type ListPage,
  type ListRequest,
  type Visibility,
} from '../visibility.ts';
import { COLUMNS } from './columns.ts';
import { where } from './where.ts';

const NAMES = COLUMNS.map(({ name }) => name);
const KEY_COLUMNS = 2;

const UPSERT = `
  INSERT INTO visibility (${NAMES.join(', ')})
  SELECT ${COLUMNS.map(({ name, absent }) => (absent ? `NULLIF(${name}, ${absent})` : name)).join(', ')}
  FROM unnest(${COLUMNS.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ')})
    AS given (${NAMES.join(', ')})
  ON CONFLICT (namespace_id, run_id) DO UPDATE
  SET ${NAMES.slice(KEY_COLUMNS)
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}
  WHERE excluded.version > visibility.version`;

/** Rows as the driver hands them over. */
type Stored = {
  readonly namespace_id: string;
  readonly run_id: string;
  readonly version: number;
  readonly workflow_id: string;
  readonly workflow_type: string;
  readonly task_queue: string;
  readonly status: number;
  readonly started_at: number;
  readonly execution_at: number;
  readonly closed_at: number | null;
  readonly history_length: number;
  readonly history_bytes: number;
  readonly first_run_id: string;
  readonly memo: Buffer | null;
  readonly search_attributes: Buffer | null;
};

export class SqlVisibility implements Visibility {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async upsert(rows: readonly IndexRow[], signal: AbortSignal): Promise<void> {
    invariant(rows.length <= MAX_BULK_ROWS, `a bulk of ${rows.length} visibility rows`);
    if (rows.length === 0) return;
    const ordered = newestOfEach(rows);
    const values = COLUMNS.map(({ array }) => array(ordered));
    await this.#database.query(UPSERT, values, { signal, name: 'visibility-upsert' });
  }

  async list(request: ListRequest, signal: AbortSignal): Promise<ListPage> {
    const { namespaceId, filter, pageSize, after } = request;
    const position = after === undefined ? [] : [after.startedAt, after.runId];
    // One more than asked for tells whether there is a next page.
    const values = [namespaceId, pageSize + 1, ...position];
    const condition = where(filter, values.length + 1);
    const stored = await this.#database.query<Stored>(
      `SELECT ${NAMES.join(', ')} FROM visibility
       WHERE namespace_id = $1::uuid AND ${after === undefined ? 'true' : AFTER} AND ${condition.text}
       ORDER BY started_at DESC, run_id DESC LIMIT $2::int8`,
      [...values, ...condition.values],
      { signal },
    );
    const rows = stored.slice(0, pageSize).map(toRow);
    const last = rows.at(-1);
    if (stored.length <= pageSize || last === undefined) return { rows };
    return { rows, next: { startedAt: last.startedAt, runId: last.runId } };
  }

  async count({ namespaceId, filter }: CountRequest, signal: AbortSignal): Promise<number> {
    const condition = where(filter, 2);
    const [row] = await this.#database.query<{ readonly runs: number }>(
      `SELECT count(*) AS runs FROM visibility
       WHERE namespace_id = $1::uuid AND ${condition.text}`,
      [namespaceId, ...condition.values],
      { signal },
    );
    return row?.runs ?? 0;
  }

  async countByStatus(
    { namespaceId, filter }: CountRequest,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, number>> {
    const condition = where(filter, 2);
    const rows = await this.#database.query<{ readonly status: number; readonly runs: number }>(
      `SELECT status, count(*) AS runs FROM visibility
       WHERE namespace_id = $1::uuid AND ${condition.text} GROUP BY status ORDER BY status`,
      [namespaceId, ...condition.values],
      { signal },
    );
    return new Map(rows.map(({ status, runs }) => [status, runs]));
  }
}

const AFTER = '(started_at, run_id) < ($3::int8, $4::uuid)';

function toRow(stored: Stored): IndexRow {
  const { closed_at: closedAt, memo, search_attributes: searchAttributes } = stored;
  return {
    namespaceId: stored.namespace_id,
    workflowId: stored.workflow_id,
    runId: stored.run_id,
    version: stored.version,
    workflowType: stored.workflow_type,
    taskQueue: stored.task_queue,
    status: stored.status,
    startedAt: stored.started_at,
    executionAt: stored.execution_at,
    ...(closedAt !== null && { closedAt }),
    historyLength: stored.history_length,
    historyBytes: stored.history_bytes,
    firstRunId: stored.first_run_id,
    ...(memo !== null && { memo: decodeCbor(memo) }),
    ...(searchAttributes !== null && { searchAttributes: decodeCbor(searchAttributes) }),
  };
}
