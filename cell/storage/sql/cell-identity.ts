/**
 * Whose database it is (D2): that of the cell that was the first to start on it, for good, under an id drawn then. The fleet map
 * names the id, so that a cell serves from no other database: an empty one would call all workflows lost.
 */
import { AtollError } from '../../../kernel/errors.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type { Runner } from './ownership.ts';

export type CellIdentity = { readonly cellId: string; readonly databaseId: string };

/** Undefined: it is nobody's yet. Asks also a database without a schema. */
export async function readIdentity(
  runner: Runner,
  signal: AbortSignal,
): Promise<CellIdentity | undefined> {
  const [known] = await runner.run<{ readonly found: string | null }>(
    { text: `SELECT to_regclass('cell_identity')::text AS found`, values: [] },
    signal,
  );
  if (known === undefined || known.found === null) return undefined;
  const [row] = await runner.run<{ readonly cell_id: string; readonly database_id: string }>(
    { text: 'SELECT cell_id, database_id FROM cell_identity', values: [] },
    signal,
  );
  return row && { cellId: row.cell_id, databaseId: row.database_id };
}

/**
 * Makes a database that is nobody's this cell's, under that id; one that is this cell's keeps its own. Answers with the id.
 * @throws AtollError `failed-precondition` if it is another cell's
 */
export async function claimIdentity(
  runner: Runner,
  { cellId, databaseId }: CellIdentity,
  signal: AbortSignal,
): Promise<string> {
  await runner.run(
    {
      text: 'INSERT INTO cell_identity (cell_id, database_id) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      values: [cellId, databaseId],
    },
    signal,
  );
  const found = await readIdentity(runner, signal);
  invariant(found !== undefined, 'a database belongs to a cell once it was claimed');
  assertBelongs(found, cellId);
  return found.databaseId;
}

/** @throws AtollError `failed-precondition` if it is another cell's */
export function assertBelongs(found: CellIdentity | undefined, cellId: string): void {
  if (found === undefined || found.cellId === cellId) return;
  throw new AtollError(
    'failed-precondition',
    `this database belongs to cell ${found.cellId}, not to cell ${cellId}: each cell has one of its own; check --postgres-url and --cell-id`,
  );
}
