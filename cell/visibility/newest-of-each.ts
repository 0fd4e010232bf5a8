/** One row a run, the newest of each, in the order of their keys: what a bulk of an adapter is made of. */
import type { IndexRow } from '../history/work.ts';

export function newestOfEach(rows: readonly IndexRow[]): readonly IndexRow[] {
  const newest = new Map<string, IndexRow>();
  for (const row of rows) {
    const key = `${row.namespaceId}/${row.runId}`;
    const known = newest.get(key);
    if (known === undefined || known.version < row.version) newest.set(key, row);
  }
  return [...newest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
