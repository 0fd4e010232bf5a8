/** The fleet map as one cell's shards see it: where each namespace is placed, from here (D8). */
import type { FleetMap } from '../../fleet/map.ts';
import type { PlacementView } from './mark.ts';

/** The map that the cell knows now. */
type KnownMap = { readonly map: FleetMap };

export class PlacementViews {
  readonly #known: KnownMap;
  readonly #cellId: string;
  /** Asked for with every call: made once a revision of the map. */
  readonly #views = new Map<string, PlacementView>();
  #revision = -1;

  constructor(known: KnownMap, cellId: string) {
    this.#known = known;
    this.#cellId = cellId;
  }

  /** Undefined where the map does not name it. */
  of(namespaceId: string): PlacementView | undefined {
    const { map } = this.#known;
    if (map.revision !== this.#revision) {
      this.#views.clear();
      this.#revision = map.revision;
    }
    const known = this.#views.get(namespaceId);
    if (known) return known;
    const { placement } = map.namespaces[namespaceId] ?? {};
    if (!placement) return undefined;
    const { active, replicas, epoch, state, forcedEpoch } = placement;
    const view = {
      active: active === this.#cellId,
      replica: replicas.includes(this.#cellId),
      handover: state.kind === 'handover',
      epoch,
      forced: forcedEpoch,
      revision: map.revision,
      owner: active,
    };
    this.#views.set(namespaceId, view);
    return view;
  }
}
