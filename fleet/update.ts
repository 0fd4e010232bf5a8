/**
 * One change of the fleet map, made durable: read, apply a pure change, compare-and-set, and again if somebody was
 * faster. The change function may run several times, so it must be pure.
 */
import { AtollError } from '../kernel/errors.ts';
import type { FleetMapStore } from './fleet-map.ts';
import type { FleetMap } from './map.ts';
import type { Change } from './table.ts';

/** Each lost race means that another change won, so this many in a row is a storm that a person should know about. */
const MAX_CAS_ATTEMPTS = 64;

/**
 * Returns the map in which the change holds.
 * @throws AtollError of the refusal; `aborted` after 64 lost races; whatever the store rejects with
 */
export async function updateMap(
  store: FleetMapStore,
  change: (map: FleetMap) => Change,
  signal: AbortSignal,
): Promise<FleetMap> {
  let current = await store.read(signal);
  for (let attempt = 0; attempt < MAX_CAS_ATTEMPTS; attempt++) {
    const wanted = change(current);
    if (wanted.kind === 'unchanged') return current;
    if (wanted.kind === 'refused') {
      throw new AtollError(
        wanted.code,
        wanted.message,
        wanted.detail === undefined ? {} : { detail: wanted.detail },
      );
    }
    const outcome = await store.compareAndSet(current.revision, wanted.map, signal);
    if (outcome.kind === 'set') return wanted.map;
    current = outcome.current;
  }
  throw new AtollError(
    'aborted',
    `The fleet map changed ${MAX_CAS_ATTEMPTS} times while this change was tried: try again.`,
  );
}
