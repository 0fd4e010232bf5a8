/**
 * The small door through which other parts of a cell share the cell's database (visibility keeps its tables there).
 * They bring their own statements; connections, deadlines and their errors stay in this folder.
 */

/** What a parameter may be. Arrays are built by `binary-array.ts`. */
export type SqlValue = string | number | boolean | Buffer | null;

export type QueryOptions = {
  /** The deadline of the call; an aborted one may still have been carried out. */
  readonly signal: AbortSignal;
  /** Names a prepared statement: unique per text. Leave it out for statements that are built anew each time. */
  readonly name?: string;
};

export interface Database {
  /**
   * Runs one statement in a transaction of its own and returns its rows: int8 as number, bytea as Buffer.
   * Rejects with an AtollError `unavailable` where the outcome is unknown.
   */
  query<Row>(
    text: string,
    values: readonly SqlValue[],
    options: QueryOptions,
  ): Promise<readonly Row[]>;
}
