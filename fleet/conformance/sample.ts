/** Small maps and requests that the fleet's tests share. */
import { EMPTY_FLEET_MAP, type FleetMap } from '../map.ts';
import { registerCell, registerNamespace, type Change, type Registration } from '../table.ts';

const DAY_MS = 86_400_000;

/** A registration that is legal in `twoCells()`; the id is derived from the name. */
export function registration(name: string, cell = 'east'): Registration {
  const common = {
    description: '',
    ownerEmail: '',
    data: {},
    retentionMs: 3 * DAY_MS,
    registeredAt: 0,
  };
  return { id: `id-of-${name}`, name, cell, ...common };
}

/** Cells east and west, and a namespace active in east for each name. */
export function twoCells(...names: readonly string[]): FleetMap {
  let map = must(
    registerCell(EMPTY_FLEET_MAP, 'east', { region: 'e', address: '127.0.0.1:1', shards: 4 }),
  );
  map = must(registerCell(map, 'west', { region: 'w', address: '127.0.0.1:2', shards: 4 }));
  for (const name of names) map = must(registerNamespace(map, registration(name)));
  return map;
}

/** The map of a change that is expected to be made. */
export function must(change: Change): FleetMap {
  if (change.kind !== 'changed') throw new Error(`expected a change: ${JSON.stringify(change)}`);
  return change.map;
}
