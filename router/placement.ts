/**
 * Where a new namespace is placed (pure). The caller may name the cell, or the region; else it is the router's default
 * region, or any. Of the cells that fit, the one that has the fewest namespaces for its shards: a cell is made with as
 * many shards as it is meant to carry.
 */
import type { ErrorCode } from '../kernel/errors.ts';
import type { FleetMap } from '../fleet/map.ts';

/** The key of a namespace's `data` that names the region; the contract has no field for it. */
export const REGION_KEY = 'atoll.region';

export type Placed =
  | { readonly kind: 'placed'; readonly cell: string }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string };

export type Wanted = {
  /** The cell that the caller named (`activeClusterName`), or an empty string. */
  readonly cell: string;
  /** The region that the caller named, or an empty string. */
  readonly region: string;
  /** Where it goes if the caller named neither; undefined: anywhere. */
  readonly defaultRegion: string | undefined;
};

export function placeNamespace(map: FleetMap, wanted: Wanted): Placed {
  if (wanted.cell !== '') return placeOn(map, wanted);
  const region = wanted.region === '' ? wanted.defaultRegion : wanted.region;
  const counts = new Map<string, number>();
  for (const [id, cell] of Object.entries(map.cells)) {
    if (region === undefined || cell.region === region) counts.set(id, 0);
  }
  for (const { placement, state } of Object.values(map.namespaces)) {
    const count = counts.get(placement.active);
    if (count !== undefined && state !== 'deleted') counts.set(placement.active, count + 1);
  }
  const loads = [...counts].map(([id, count]) => ({ id, load: loadWith(map, id, count + 1) }));
  const least = loads.sort((a, b) => a.load - b.load || (a.id < b.id ? -1 : 1))[0];
  if (least !== undefined) return { kind: 'placed', cell: least.id };
  const where = region === undefined ? 'The fleet has no cell' : `Region ${region} has no cell`;
  return refused(
    'failed-precondition',
    `${where}${regionsOf(map)}: start a cell, then register again.`,
  );
}

/** On the cell that the caller named, if it is there, and where the caller wants it. */
function placeOn(map: FleetMap, { cell, region }: Wanted): Placed {
  const known = Object.hasOwn(map.cells, cell) ? map.cells[cell] : undefined;
  if (known === undefined) {
    const cells = Object.keys(map.cells).join(', ');
    const message = `activeClusterName '${cell}' is not a cell of this fleet; cells: ${cells}.`;
    return refused('invalid-argument', message);
  }
  if (region === '' || known.region === region) return { kind: 'placed', cell };
  const message = `Cell ${cell} lies in region ${known.region}, not ${region}: name the cell (activeClusterName) or the region (data key ${REGION_KEY}), or two that fit.`;
  return refused('invalid-argument', message);
}

function loadWith(map: FleetMap, cell: string, namespaces: number): number {
  return namespaces / (map.cells[cell]?.shards ?? 1);
}

function regionsOf(map: FleetMap): string {
  const regions = [...new Set(Object.values(map.cells).map(({ region }) => region))].sort();
  return regions.length === 0 ? '' : ` (regions with cells: ${regions.join(', ')})`;
}

function refused(code: ErrorCode, message: string): Placed {
  return { kind: 'refused', code, message };
}
