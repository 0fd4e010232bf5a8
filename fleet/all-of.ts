/** Several changes of the fleet map as one: all of them hold in the next revision, or none. */
import type { FleetMap } from './map.ts';
import type { Change } from './table.ts';

/** The first refusal counts for all. */
export function allOf(map: FleetMap, changes: readonly ((map: FleetMap) => Change)[]): Change {
  let next = map;
  for (const change of changes) {
    const made = change(next);
    if (made.kind === 'refused') return made;
    if (made.kind === 'changed') next = made.map;
  }
  if (next === map) return { kind: 'unchanged' };
  return { kind: 'changed', map: { ...next, revision: map.revision + 1 } };
}
