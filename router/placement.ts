/** Where a new namespace is placed (pure): the cell with the fewest namespaces, in the default region if one is set. */
import type { ErrorCode } from '../kernel/errors.ts';
import type { FleetMap } from '../fleet/map.ts';

export type Placed =
  | { readonly kind: 'placed'; readonly cell: string }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string };

/**
 * @param wanted the cell that the caller named (`activeClusterName`), or an empty string
 * @param region cells of this region only; undefined: of any
 */
export function placeNamespace(map: FleetMap, wanted: string, region: string | undefined): Placed {
  if (wanted !== '') {
    if (Object.hasOwn(map.cells, wanted)) return { kind: 'placed', cell: wanted };
    return {
      kind: 'refused',
      code: 'invalid-argument',
      message: `activeClusterName '${wanted}' is not a cell of this fleet; cells: ${Object.keys(map.cells).join(', ')}.`,
    };
  }
  const counts = new Map<string, number>();
  for (const [id, cell] of Object.entries(map.cells)) {
    if (region === undefined || cell.region === region) counts.set(id, 0);
  }
  for (const { placement, state } of Object.values(map.namespaces)) {
    const count = counts.get(placement.active);
    if (count !== undefined && state !== 'deleted') counts.set(placement.active, count + 1);
  }
  const fewest = [...counts].sort(([a, m], [b, n]) => m - n || (a < b ? -1 : 1))[0];
  if (fewest !== undefined) return { kind: 'placed', cell: fewest[0] };
  const where = region === undefined ? 'The fleet has no cell' : `Region ${region} has no cell`;
  return {
    kind: 'refused',
    code: 'failed-precondition',
    message: `${where}: start a cell, then register again.`,
  };
}
