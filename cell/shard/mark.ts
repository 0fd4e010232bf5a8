/**
 * Marks (PROTOCOLS 8): a record in a shard's log that says how one namespace stands there. Only a mark closes a
 * namespace, opens it again or makes it active; never a timer, and never a map that was merely seen. Pure.
 *
 *   (no mark) ──► gated ──► acting      the move was rolled back
 *       │           └─────► standby     it was flipped
 *       ├─────────► standby ──► acting  in a newer epoch
 *       └─────────► acting  ──► gated, standby
 *
 * Invariants
 *  1. A mark's epoch never falls, and what it was made from is named: the map's revision (PROTOCOLS 8.4).
 *  2. Without a mark a namespace acts where the map placed it when it was registered: at epoch 1.
 */

/** A namespace's placement by the map that this cell knows, seen from this cell. */
export type PlacementView = {
  /** This cell is the active one; during a handover it still is. */
  readonly active: boolean;
  /** This cell keeps a copy. */
  readonly replica: boolean;
  readonly handover: boolean;
  readonly epoch: number;
  /** The newest epoch that a forced failover began; 0: none did. */
  readonly forced?: number | undefined;
  /** Revision of the map. */
  readonly revision: number;
  /** The active cell, for those who ask the wrong one. */
  readonly owner: string;
};

export type Mark = {
  readonly namespaceId: string;
  readonly epoch: number;
  /** Of the map that the mark was made from. */
  readonly revision: number;
} & (
  | { readonly kind: 'acting' }
  /** Closed for a planned move: nothing of the namespace is decided or answered behind it (PROTOCOLS 8.1). */
  | { readonly kind: 'gated'; readonly moveId: string }
  | { readonly kind: 'standby' }
);

/** The mark that must be written before anything else of the namespace, as the map asks; undefined: none. */
export function dueMark(
  namespaceId: string,
  mark: Mark | undefined,
  placement: PlacementView | undefined,
): Mark | undefined {
  if (placement === undefined) return undefined;
  const { epoch, revision, active, replica, handover } = placement;
  const known = mark?.epoch ?? 1;
  if (epoch > known) {
    if (active) return { kind: 'acting', namespaceId, epoch, revision };
    return mark?.kind === 'standby' || !replica
      ? undefined
      : { kind: 'standby', namespaceId, epoch, revision };
  }
  const rolledBack =
    mark?.kind === 'gated' && epoch === known && revision > mark.revision && active && !handover;
  return rolledBack ? { kind: 'acting', namespaceId, epoch, revision } : undefined;
}

/** Whether the shard may decide, answer and drive work for the namespace. */
export function isActing(mark: Mark | undefined, placement: PlacementView | undefined): boolean {
  if (mark !== undefined) return mark.kind === 'acting';
  return placement === undefined || (placement.active && placement.epoch === 1);
}
