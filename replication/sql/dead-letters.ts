/** Dead letters in the cell's own database (migrations/004). */
import type { Database } from '../../cell/storage/sql/database.ts';
import type { DeadLetter, DeadLetters, LetterLane } from '../dead-letters.ts';

const ADD = `
  INSERT INTO dead_letter
    (namespace_id, target, run_id, transition, workflow_id, at, reason, step, repaired_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL)
  ON CONFLICT (namespace_id, target, run_id, transition) DO UPDATE
  SET at = excluded.at, reason = excluded.reason, step = excluded.step, repaired_at = NULL`;

const REPAIRED = `
  UPDATE dead_letter SET repaired_at = $4
  WHERE namespace_id = $1 AND target = $2 AND run_id = $3 AND repaired_at IS NULL`;

const LIST = `
  SELECT workflow_id, run_id, transition, at, reason, step, repaired_at FROM dead_letter
  WHERE namespace_id = $1 AND target = $2 AND ($3 OR repaired_at IS NULL)
  ORDER BY at, transition LIMIT $4`;

/** Rows as the driver hands them over. */
type Stored = {
  readonly workflow_id: string;
  readonly run_id: string;
  readonly transition: number;
  readonly at: number;
  readonly reason: string;
  readonly step: Buffer;
  readonly repaired_at: number | null;
};

export class SqlDeadLetters implements DeadLetters {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(letter: DeadLetter, signal: AbortSignal): Promise<void> {
    const { namespaceId, target, runId, transition, workflowId, at, reason, step } = letter;
    const bytes = Buffer.from(step.buffer, step.byteOffset, step.length);
    // A text of PostgreSQL holds no zero byte; a reason may quote anything.
    const text = reason.replaceAll('\0', '�');
    const values = [namespaceId, target, runId, transition, workflowId, at, text, bytes];
    await this.#database.query(ADD, values, { signal, name: 'dead-letter-add' });
  }

  async repaired(
    lane: LetterLane,
    run: { readonly runId: string; readonly at: number },
    signal: AbortSignal,
  ): Promise<void> {
    const values = [lane.namespaceId, lane.target, run.runId, run.at];
    await this.#database.query(REPAIRED, values, { signal, name: 'dead-letter-repaired' });
  }

  async list(
    lane: LetterLane,
    options: { readonly repairedToo: boolean; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly DeadLetter[]> {
    const values = [lane.namespaceId, lane.target, options.repairedToo, options.limit];
    const rows = await this.#database.query<Stored>(LIST, values, { signal });
    return rows.map((row) => ({
      namespaceId: lane.namespaceId,
      target: lane.target,
      workflowId: row.workflow_id,
      runId: row.run_id,
      transition: row.transition,
      at: row.at,
      reason: row.reason,
      step: row.step,
      ...(row.repaired_at === null ? {} : { repairedAt: row.repaired_at }),
    }));
  }
}
