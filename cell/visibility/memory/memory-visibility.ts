/**
 * Visibility in memory: for throwaway cells, tests and the simulator. Lists sort what matches, each time anew.
 *
 * Invariants
 *  1. At most `maxRows` runs are shown (P11): beyond it the one first written leaves.
 */
import type { IndexRow } from '../../history/work.ts';
import { newestOfEach } from '../newest-of-each.ts';
import type { CountRequest, ListPage, ListRequest, Visibility } from '../visibility.ts';
import { matches } from './matches.ts';

const MAX_ROWS = 1_000_000;

export class MemoryVisibility implements Visibility {
  readonly #maxRows: number;
  /** By namespace and run. */
  readonly #rows = new Map<string, IndexRow>();

  /** @param maxRows how many runs are shown at most */
  constructor(maxRows: number = MAX_ROWS) {
    this.#maxRows = maxRows;
  }

  async upsert(rows: readonly IndexRow[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (const row of newestOfEach(rows)) {
      const key = `${row.namespaceId}/${row.runId}`;
      const known = this.#rows.get(key);
      if (known !== undefined && known.version >= row.version) continue;
      this.#rows.set(key, row);
      if (this.#rows.size <= this.#maxRows) continue;
      const [first] = this.#rows.keys();
      if (first !== undefined) this.#rows.delete(first);
    }
  }

  async list(request: ListRequest, signal: AbortSignal): Promise<ListPage> {
    signal.throwIfAborted();
    const { pageSize, after } = request;
    const found = this.#find(request)
      .filter((row) => after === undefined || newerFirst(after, row) < 0)
      .sort(newerFirst);
    const rows = found.slice(0, pageSize);
    const last = rows.at(-1);
    if (found.length <= pageSize || last === undefined) return { rows };
    return { rows, next: { startedAt: last.startedAt, runId: last.runId } };
  }

  async count(request: CountRequest, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    return this.#find(request).length;
  }

  async countByStatus(
    request: CountRequest,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, number>> {
    signal.throwIfAborted();
    const counts = new Map<number, number>();
    for (const { status } of this.#find(request)) counts.set(status, (counts.get(status) ?? 0) + 1);
    return new Map([...counts].sort(([a], [b]) => a - b));
  }

  #find({ namespaceId, filter }: CountRequest): IndexRow[] {
    return [...this.#rows.values()].filter(
      (row) => row.namespaceId === namespaceId && (filter === undefined || matches(filter, row)),
    );
  }
}

type Key = Pick<IndexRow, 'startedAt' | 'runId'>;

function newerFirst(a: Key, b: Key): number {
  return b.startedAt - a.startedAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0);
}
