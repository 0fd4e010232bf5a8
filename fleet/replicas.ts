/**
 * Which cells keep a copy of a namespace, and what it asks of them: pure changes like those of table.ts. Lanes follow the
 * map: a replica that is added is seeded, one that is removed is fed no longer.
 */
import type { FleetMap, Namespace, Replication } from './map.ts';
import { runningMove, settledMove } from './move.ts';
import { refuse, withNamespace, wrongReplicas, wrongReplication, type Change } from './table.ts';

/** Adds a cell that keeps a copy. */
export function addReplica(
  map: FleetMap,
  asked: { readonly namespaceId: string; readonly cell: string },
): Change {
  const namespace = liveNamespace(map, asked.namespaceId);
  if (namespace === undefined) return unknownNamespace(asked.namespaceId);
  const { placement } = namespace;
  if (placement.replicas.includes(asked.cell)) return { kind: 'unchanged' };
  const replicas = [...placement.replicas, asked.cell];
  const wrong = wrongReplicas(map, replicas);
  if (wrong !== undefined) return refuse('failed-precondition', wrong);
  return withNamespace(map, { ...namespace, placement: { ...placement, replicas } });
}

/** Takes a cell out. Never the active one, nor one that a move goes from or to. */
export function removeReplica(
  map: FleetMap,
  asked: { readonly namespaceId: string; readonly cell: string },
): Change {
  const namespace = liveNamespace(map, asked.namespaceId);
  if (namespace === undefined) return unknownNamespace(asked.namespaceId);
  const { placement, name } = namespace;
  if (!placement.replicas.includes(asked.cell)) return { kind: 'unchanged' };
  if (placement.active === asked.cell) {
    const message = `Namespace ${name} is active in ${asked.cell}: move it away first.`;
    return refuse('failed-precondition', message);
  }
  const move = runningMove(namespace) ?? settledMove(namespace);
  if (move?.from === asked.cell || move?.to === asked.cell) {
    const message = `Move ${move.id} of ${name} needs ${asked.cell}: end the move first.`;
    return refuse('failed-precondition', message);
  }
  const replicas = placement.replicas.filter((cell) => cell !== asked.cell);
  return withNamespace(map, { ...namespace, placement: { ...placement, replicas } });
}

/** Changes mode, maximum lag and policy. */
export function setReplication(
  map: FleetMap,
  asked: { readonly namespaceId: string; readonly replication: Replication },
): Change {
  const namespace = liveNamespace(map, asked.namespaceId);
  if (namespace === undefined) return unknownNamespace(asked.namespaceId);
  const wrong = wrongReplication(asked.replication);
  if (wrong !== undefined) return refuse('failed-precondition', wrong);
  if (JSON.stringify(namespace.replication) === JSON.stringify(asked.replication)) {
    return { kind: 'unchanged' };
  }
  return withNamespace(map, { ...namespace, replication: asked.replication });
}

/** The namespace of that id, unless deleted. */
export function liveNamespace(map: FleetMap, id: string): Namespace | undefined {
  const namespace = Object.hasOwn(map.namespaces, id) ? map.namespaces[id] : undefined;
  return namespace?.state === 'deleted' ? undefined : namespace;
}

export function unknownNamespace(id: string): Change {
  return refuse('not-found', `Namespace ${id} is not in the fleet map.`);
}
