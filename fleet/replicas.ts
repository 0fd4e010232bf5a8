/**
 * Which cells keep a copy of a namespace, and what it asks of them: pure changes like those of table.ts. Lanes follow the
 * map: a replica that is added is seeded, one that is removed is fed no longer.
 */
import type { FleetMap, Namespace, Replication } from './map.ts';
import { runningMove, settledMove } from './move.ts';
import { refuse, withNamespace, wrongReplicas, wrongReplication, type Change } from './table.ts';

/**
 * Makes these the cells that keep a copy, the active one besides. A cell that is taken out must not be one that a move goes
 * from or to; what it holds stays there and is fed no longer.
 */
export function setReplicas(
  map: FleetMap,
  asked: { readonly namespaceId: string; readonly replicas: readonly string[] },
): Change {
  const namespace = liveNamespace(map, asked.namespaceId);
  if (namespace === undefined) return unknownNamespace(asked.namespaceId);
  const { placement, name } = namespace;
  const replicas = [...new Set([placement.active, ...asked.replicas])];
  const wrong = wrongReplicas(map, replicas);
  if (wrong !== undefined) return refuse('failed-precondition', wrong);
  const out = placement.replicas.filter((cell) => !replicas.includes(cell));
  const move = runningMove(namespace) ?? settledMove(namespace);
  const needed = out.find((cell) => move?.from === cell || move?.to === cell);
  if (move !== undefined && needed !== undefined) {
    const end = move.phase === 'settled' ? 'confirm it or switch back' : 'wait for it or abort it';
    const message = `Move ${move.id} of ${name} needs cell ${needed}: ${end} first.`;
    return refuse('failed-precondition', message);
  }
  const added = replicas.some((cell) => !placement.replicas.includes(cell));
  if (out.length === 0 && !added) return { kind: 'unchanged' };
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
