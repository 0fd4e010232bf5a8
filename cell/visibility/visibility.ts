/**
 * The port to visibility: which runs there are, by what a person or a tool filters for (BEHAVIOURS 22).
 *
 * Place: the shard's effects write rows here in bulk, from pending work; the frontend lists and counts. A row shows its
 * run a moment late; nothing in the engine decides on what it reads here.
 *
 * Promises (conformance/ holds every adapter to them)
 *  1. Rows converge: of all writes of a run the one with the largest `version` stays, in whatever order they come.
 *  2. Pages are in order of start time, newest first, then run id, largest first; a token stays valid while rows come and go, and a row
 *     that stays is seen once.
 *  3. No value of a filter is ever read as anything but a value.
 */
import type { IndexRow } from '../history/work.ts';
import type { Filter } from './filter/filter.ts';

/** Continues after this row. */
export type ListPosition = { readonly startedAt: number; readonly runId: string };

export type ListRequest = {
  readonly namespaceId: string;
  /** Undefined = all. */
  readonly filter?: Filter | undefined;
  /** At least 1. */
  readonly pageSize: number;
  readonly after?: ListPosition | undefined;
};

export type ListPage = {
  readonly rows: readonly IndexRow[];
  /** Undefined after the last row. */
  readonly next?: ListPosition | undefined;
};

export type CountRequest = Pick<ListRequest, 'namespaceId' | 'filter'>;

/** Rows in one bulk. */
export const MAX_BULK_ROWS = 1_000;

export interface Visibility {
  /** Writes all rows or rejects; may be repeated. At most MAX_BULK_ROWS. */
  upsert(rows: readonly IndexRow[], signal: AbortSignal): Promise<void>;
  list(request: ListRequest, signal: AbortSignal): Promise<ListPage>;
  count(request: CountRequest, signal: AbortSignal): Promise<number>;
  /** Counts by ExecutionStatus number; statuses without a run are left out. */
  countByStatus(request: CountRequest, signal: AbortSignal): Promise<ReadonlyMap<number, number>>;
}
