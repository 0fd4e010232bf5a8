/** What forced failovers cost, in the cell's own database (migrations/004, 006). */
import type { Database } from '../../cell/storage/sql/database.ts';
import { byteaArray, int8Array, textArray } from '../../cell/storage/sql/binary-array.ts';
import { decodeCbor, encodeCbor } from '../../wire/cbor.ts';
import type { LostExecution } from '../../cell/shard/replicas/loss.ts';
import type { Loss } from '../../cell/shard/replicas/loss.ts';
import type { Losses } from '../losses/losses.ts';

const ADD = `
  INSERT INTO loss (namespace_id, epoch, workflow_id, run_id, execution, lost_epoch)
  SELECT * FROM unnest($1::text[], $2::int8[], $3::text[], $4::text[], $5::bytea[], $6::int8[])
  ON CONFLICT (namespace_id, epoch, workflow_id, run_id)
  DO UPDATE SET execution = excluded.execution, lost_epoch = excluded.lost_epoch`;

// As failoverOf (losses.ts) has it.
const NEWEST = `
  SELECT max(least(coalesce(lost_epoch, epoch - 1) + 1, epoch)) AS epoch
  FROM loss WHERE namespace_id = $1`;
const COUNT = 'SELECT count(*) AS total FROM loss WHERE namespace_id = $1 AND epoch >= $2';
const FIND = `
  SELECT execution FROM loss
  WHERE namespace_id = $1 AND epoch = $2 AND workflow_id = $3 AND run_id = $4`;
const LIST = `
  SELECT execution FROM loss WHERE namespace_id = $1 AND epoch >= $2
  ORDER BY workflow_id, run_id, epoch LIMIT $3`;

export class SqlLosses implements Losses {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(losses: readonly Loss[], signal: AbortSignal): Promise<void> {
    // One statement may not meet a row twice: the later one counts.
    const newest = new Map(losses.map((loss) => [keyOf(loss), loss] as const));
    const rows = [...newest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, loss]) => loss);
    if (rows.length === 0) return;
    const values = [
      textArray(rows.map(({ namespaceId }) => namespaceId)),
      int8Array(rows.map(({ epoch }) => epoch)),
      textArray(rows.map(({ execution }) => execution.workflowId)),
      textArray(rows.map(({ execution }) => execution.runId)),
      byteaArray(rows.map(({ execution }) => encodeCbor(execution))),
      int8Array(rows.map(({ execution }) => execution.transitions.epoch)),
    ];
    await this.#database.query(ADD, values, { signal, name: 'loss-add' });
  }

  async find(
    of: {
      readonly namespaceId: string;
      readonly epoch: number;
      readonly workflowId: string;
      readonly runId: string;
    },
    signal: AbortSignal,
  ): Promise<LostExecution | undefined> {
    const values = [of.namespaceId, of.epoch, of.workflowId, of.runId];
    const [row] = await this.#database.query<{ readonly execution: Buffer }>(FIND, values, {
      signal,
    });
    return row && (decodeCbor(row.execution) as LostExecution);
  }

  async list(
    ask: { readonly namespaceId: string; readonly limit: number },
    signal: AbortSignal,
  ): Promise<{
    readonly epoch: number;
    readonly executions: readonly LostExecution[];
    readonly total: number;
  }> {
    const { namespaceId, limit } = ask;
    const newest = await this.#database.query<{ readonly epoch: number | null }>(
      NEWEST,
      [namespaceId],
      { signal },
    );
    const epoch = newest[0]?.epoch ?? 0;
    const values = [namespaceId, epoch];
    const counted = await this.#database.query<{ readonly total: number }>(COUNT, values, {
      signal,
    });
    const rows = await this.#database.query<{ readonly execution: Buffer }>(
      LIST,
      [...values, limit],
      { signal },
    );
    const executions = rows.map(({ execution }) => decodeCbor(execution) as LostExecution);
    return { epoch, executions, total: counted[0]?.total ?? 0 };
  }
}

function keyOf({ namespaceId, epoch, execution }: Loss): string {
  return JSON.stringify([namespaceId, epoch, execution.workflowId, execution.runId]);
}
