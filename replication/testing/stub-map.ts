/** A fleet map in a variable, followed at once: as much of it as lanes and receivers look at. */
import { EMPTY_FLEET_MAP, type FleetMap, type Namespace, type Placement } from '../../fleet/map.ts';
import type { FollowedMap } from '../followed-map.ts';

export function namespaceOf(id: string, placement: Partial<Placement> = {}): Namespace {
  return {
    id,
    name: `name-${id}`,
    description: '',
    ownerEmail: '',
    data: {},
    retentionMs: 86_400_000,
    registeredAt: 0,
    state: 'registered',
    customSearchAttributes: {},
    placement: {
      active: 'a',
      replicas: ['a', 'b'],
      epoch: 1,
      state: { kind: 'active' },
      ...placement,
    },
  };
}

export class StubMap implements FollowedMap {
  map: FleetMap;
  refreshes = 0;
  /** What the next refresh finds. */
  upstream: readonly Namespace[] | undefined;
  readonly #listeners = new Set<(map: FleetMap) => void>();

  constructor(namespaces: readonly Namespace[]) {
    this.map = mapOf(namespaces, 1);
  }

  namespaceById(id: string): Namespace | undefined {
    return this.map.namespaces[id];
  }

  onChange(listener: (map: FleetMap) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async refresh(): Promise<void> {
    this.refreshes += 1;
    if (this.upstream) this.set(this.upstream);
    this.upstream = undefined;
  }

  set(namespaces: readonly Namespace[]): void {
    this.map = mapOf(namespaces, this.map.revision + 1);
    for (const listener of this.#listeners) listener(this.map);
  }
}

function mapOf(namespaces: readonly Namespace[], revision: number): FleetMap {
  const cell = (address: string) => ({ region: 'r', address, shards: 4 });
  return {
    ...EMPTY_FLEET_MAP,
    revision,
    cells: { a: cell('a:1'), b: cell('b:1'), c: cell('c:1') },
    namespaces: Object.fromEntries(namespaces.map((one) => [one.id, one])),
  };
}
