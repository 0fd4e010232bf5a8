/**
 * What the fleet map says of lanes (D8, D9): which ones a cell has, and who wrote what. Pure.
 *
 * Invariants
 *  1. A lane exists where a namespace that is not deleted lists both cells as replicas, whoever is active: after the
 *     active cell died, the lanes between the others close their holes (PROTOCOLS 7).
 */
import type { FleetMap, Namespace } from '../../fleet/map.ts';

export type LaneKey = { readonly namespaceId: string; readonly target: string };

/** The lanes from `cell`. */
export function lanesOf(map: FleetMap, cell: string): readonly LaneKey[] {
  return Object.values(map.namespaces).flatMap((namespace) =>
    targetsOf(namespace, cell).map((target) => ({ namespaceId: namespace.id, target })),
  );
}

function targetsOf(namespace: Namespace, cell: string): readonly string[] {
  const { replicas } = namespace.placement;
  if (namespace.state === 'deleted' || !replicas.includes(cell)) return [];
  return replicas.filter((replica) => replica !== cell);
}

/** Whether the namespace is kept by both cells. */
export function replicatedBetween(namespace: Namespace | undefined, a: string, b: string): boolean {
  if (namespace === undefined || namespace.state === 'deleted' || a === b) return false;
  const { replicas } = namespace.placement;
  return replicas.includes(a) && replicas.includes(b);
}

/** Whether a transition of this epoch is that cell's own: then it has it. An epoch has one active cell for ever (D8). */
export function writtenBy(
  namespace: Namespace | undefined,
  step: { readonly epoch: number; readonly cell: string },
): boolean {
  const placement = namespace?.placement;
  return placement?.epoch === step.epoch && placement.active === step.cell;
}
