/**
 * What becomes of a statement: the faults of a store, chosen statement by statement.
 *
 * Place: the simulator hands a StoreFaults to a MemoryStore; without one, all is well. The PostgreSQL adapter has
 * nothing like it: there, faults are made from outside.
 */
import type { LogRow, ShardId } from '../shard-log.ts';

/** A statement that is about to be sent. */
export type StoreStatement = {
  readonly kind: 'append' | 'verify' | 'claim' | 'position' | 'tail' | 'checkpoint' | 'read';
  readonly shards: readonly ShardId[];
  /** The rows of an append. */
  readonly rows: readonly LogRow[];
};

/**
 * Times are in ms from when the statement was sent; left out, it is at once, except that `failMs` left out means that
 * the caller hears nothing until its own deadline.
 *
 * - `ok`: lands at `landMs` (a slow store), is answered `answerMs` later; `echoMs` later it lands once more.
 * - `lost-reply`: lands, and the caller learns that the connection broke.
 * - `late`: the caller learns that the connection broke; the statement lands at `landMs`, `times` times.
 * - `lost`: never lands, and the caller learns that the connection broke.
 * - `rejected`: the server answers with an error; nothing landed.
 * - `conflict`: the server answers 40001, as a higher isolation level does; nothing landed.
 */
export type StatementFate =
  | {
      readonly kind: 'ok';
      readonly landMs?: number;
      readonly answerMs?: number;
      readonly echoMs?: number;
    }
  | { readonly kind: 'lost-reply'; readonly landMs?: number; readonly failMs?: number }
  | {
      readonly kind: 'late';
      readonly landMs: number;
      readonly times?: 1 | 2;
      readonly failMs?: number;
    }
  | { readonly kind: 'lost'; readonly failMs?: number }
  | { readonly kind: 'rejected'; readonly reason?: string }
  | { readonly kind: 'conflict' };

export interface StoreFaults {
  /** Called once per statement, in the order of sending. */
  fateOf(statement: StoreStatement): StatementFate;
}

/** Every statement lands at once and is answered at once. */
export const noFaults: StoreFaults = { fateOf: () => ({ kind: 'ok' }) };
