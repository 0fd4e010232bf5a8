/**
 * What the fleet map said over time, as its store holds it: which epoch is whose, since when, and how moves ended. Checkers
 * judge by it; whoever strikes at turns is told of them.
 */
import { EMPTY_FLEET_MAP, type FleetMap, type Placement } from '../../../fleet/map.ts';
import { runningMove, type Move, type MoveOutcome } from '../../../fleet/move.ts';
import { NAMESPACE_ID } from '../host.ts';

/** Told when it happens. */
export type Told = {
  readonly handover: () => void;
  readonly epoch: (placement: Placement, how: { readonly forced: boolean }) => void;
  readonly ended: (id: string, outcome: MoveOutcome) => void;
};

export class MapHistory {
  /** Epoch → the cell that the map made active with it. */
  readonly activeIn = new Map<number, string>();
  /** Epoch → when it began. */
  readonly beganMs = new Map<number, number>();
  /** Epochs that began by a forced failover. */
  readonly forced = new Set<number>();
  readonly #ended = new Set<string>();
  readonly #told: Told;
  #latest: FleetMap = EMPTY_FLEET_MAP;
  #handover = '';

  constructor(told: Told) {
    this.#told = told;
  }

  /** The cell that is active. */
  get active(): string {
    return this.#latest.namespaces[NAMESPACE_ID]?.placement.active ?? '';
  }

  get runningMove(): Move | undefined {
    const namespace = this.#latest.namespaces[NAMESPACE_ID];
    return namespace && runningMove(namespace);
  }

  /** The first map: of it nobody is told. */
  begin(map: FleetMap): void {
    this.#latest = map;
    const { placement } = map.namespaces[NAMESPACE_ID] ?? {};
    if (placement) this.activeIn.set(placement.epoch, placement.active);
  }

  see(map: FleetMap, atMs: number): void {
    this.#latest = map;
    const { placement, moves = [] } = map.namespaces[NAMESPACE_ID] ?? {};
    if (!placement) return;
    const { state, epoch, active } = placement;
    if (state.kind === 'handover' && this.#handover !== state.moveId) {
      this.#handover = state.moveId;
      this.#told.handover();
    }
    if (!this.activeIn.has(epoch)) {
      this.activeIn.set(epoch, active);
      this.beganMs.set(epoch, atMs);
      const forced = moves.at(-1)?.kind === 'failover';
      if (forced) this.forced.add(epoch);
      this.#told.epoch(placement, { forced });
    }
    for (const { id, outcome } of moves) {
      if (outcome === undefined || this.#ended.has(id)) continue;
      this.#ended.add(id);
      this.#told.ended(id, outcome);
    }
  }
}
