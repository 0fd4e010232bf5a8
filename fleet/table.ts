/**
 * The legal changes of the fleet map, as pure functions: map and request in, next map or typed refusal out.
 *
 * Place: callers hand one of these to `updateMap` (update.ts), which makes the result durable by compare-and-set.
 *
 * Invariants
 *  1. A change raises `revision` by exactly one; a refusal or a repeat changes nothing.
 *  2. An epoch never falls and grows whenever `active` changes (D8, P2).
 *  3. A deleted namespace keeps its row, so its id never comes back (P8).
 */
import type { ErrorCode, ErrorDetail } from '../kernel/errors.ts';
import { FLEET_LIMITS } from './limits.ts';
import type { Cell, FleetMap, Namespace, Placement, Replication } from './map.ts';

/** What became of a request. `unchanged`: what was asked for is so already. */
export type Change =
  { readonly kind: 'changed'; readonly map: FleetMap } | { readonly kind: 'unchanged' } | Refusal;

export type Refusal = {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  /** What is wrong and what to do, for a person. */
  readonly message: string;
  readonly detail?: ErrorDetail;
};

/** All of a new namespace but what the fleet decides: its state, attributes and epoch. */
export type Registration = Pick<
  Namespace,
  'id' | 'name' | 'description' | 'ownerEmail' | 'data' | 'retentionMs' | 'registeredAt'
> & {
  /** The cell that will be active for it. */
  readonly cell: string;
  /** Cells that keep a copy besides. */
  readonly replicas?: readonly string[] | undefined;
  readonly replication?: Replication | undefined;
};

const NAMESPACE_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
const CELL_ID = /^[a-z0-9][a-z0-9-]{0,62}$/;
const ADDRESS = /^(\[[0-9a-fA-F:]+\]|[^\s:/]+):\d{1,5}$/;

/** Adds a namespace, active in `cell` at epoch 1. The name must be free (a deleted namespace does not hold its name). */
export function registerNamespace(map: FleetMap, asked: Registration): Change {
  const wrong = wrongRegistration(asked);
  if (wrong !== undefined) return refuse('invalid-argument', wrong);
  if (namespaceByName(map, asked.name) !== undefined || map.namespaces[asked.id] !== undefined) {
    return refuse('already-exists', `Namespace ${asked.name} is registered already.`, {
      type: 'NamespaceAlreadyExistsFailure',
      value: {},
    });
  }
  const replicas = [...new Set([asked.cell, ...(asked.replicas ?? [])])];
  const wrongCells = wrongReplicas(map, replicas) ?? wrongReplication(asked.replication);
  if (wrongCells !== undefined) return refuse('failed-precondition', wrongCells);
  if (Object.keys(map.namespaces).length >= FLEET_LIMITS.maxNamespaces) {
    return refuse(
      'resource-exhausted',
      `The fleet is full: ${FLEET_LIMITS.maxNamespaces} namespaces (maxNamespaces).`,
    );
  }
  const { cell: active, replicas: _, replication, ...rest } = asked;
  const placement: Placement = { active, replicas, epoch: 1, state: { kind: 'active' } };
  return withNamespace(map, {
    ...rest,
    state: 'registered',
    customSearchAttributes: {},
    placement,
    ...(replication === undefined ? {} : { replication }),
  });
}

/**
 * Adds a cell, or gives a known one its new address or region. Its shard count never changes (D2), its database only where
 * that is said (`newDatabase`): with it all is gone that no other cell keeps.
 */
export function registerCell(
  map: FleetMap,
  id: string,
  cell: Cell,
  { newDatabase = false }: { readonly newDatabase?: boolean } = {},
): Change {
  const wrong = wrongCell(id, cell);
  if (wrong !== undefined) return refuse('invalid-argument', wrong);
  const known = map.cells[id];
  if (known === undefined && Object.keys(map.cells).length >= FLEET_LIMITS.maxCells) {
    return refuse(
      'resource-exhausted',
      `The fleet is full: ${FLEET_LIMITS.maxCells} cells (maxCells).`,
    );
  }
  if (known !== undefined && known.shards !== cell.shards) {
    return refuse(
      'failed-precondition',
      `Cell ${id} was made with ${known.shards} shards and cannot have ${cell.shards}: start it with --shards ${known.shards}, or give the new cell another id.`,
    );
  }
  if (known?.database !== undefined && known.database !== cell.database) {
    const needed = newDatabase
      ? needsDatabase(map, id)
      : `Cell ${id} has its workflows in database ${known.database}, and this is ${cell.database ?? 'none'}.`;
    if (needed !== undefined) return refuse('failed-precondition', needed);
  }
  if (known !== undefined && isSameCell(known, cell)) return { kind: 'unchanged' };
  return changed(map, { cells: { ...map.cells, [id]: cell } });
}

/** Why the cell cannot begin anew on an empty database, for a person: other cells count on what it had. */
export function needsDatabase(map: FleetMap, id: string): string | undefined {
  const shared = Object.values(map.namespaces).filter(
    ({ placement: { replicas }, state }) =>
      state !== 'deleted' && replicas.length > 1 && replicas.includes(id),
  );
  if (shared.length === 0) return undefined;
  const some = shared.slice(0, 3).map(({ name }) => name);
  const names = [...some, ...(shared.length > 3 ? [`${shared.length - 3} more`] : [])].join(', ');
  return `Cell ${id} keeps ${names} together with other cells, which count on what it had: fail over what is active here (atoll failover), take the cell out of the replicas (atoll namespace update NAME --replicas ...), and add it again once it serves.`;
}

function isSameCell(one: Cell, other: Cell): boolean {
  return (
    one.address === other.address && one.region === other.region && one.database === other.database
  );
}

/**
 * Makes another replica active, at the next epoch: the compare-and-set that a forced failover and a flip end in
 * (PROTOCOLS 8, 9). `epoch` is the one the caller decided on; another one means that somebody was faster.
 */
export function activate(
  map: FleetMap,
  asked: { namespaceId: string; cell: string; epoch: number },
): Change {
  const namespace = map.namespaces[asked.namespaceId];
  if (namespace === undefined || namespace.state === 'deleted') {
    return refuse('not-found', `Namespace ${asked.namespaceId} is not in the fleet map.`);
  }
  const { placement } = namespace;
  if (placement.epoch !== asked.epoch) {
    return refuse(
      'aborted',
      `Namespace ${namespace.name} is at epoch ${placement.epoch}, not ${asked.epoch}: look at it again, then decide again.`,
    );
  }
  if (map.cells[asked.cell] === undefined) {
    return refuse('failed-precondition', `Cell ${asked.cell} is not in the fleet map.`);
  }
  const replicas = placement.replicas.includes(asked.cell)
    ? placement.replicas
    : [...placement.replicas, asked.cell];
  const next: Placement = {
    active: asked.cell,
    replicas,
    epoch: placement.epoch + 1,
    state: { kind: 'active' },
  };
  return withNamespace(map, { ...namespace, placement: next });
}

/** The namespace of that name, unless deleted. Linear: for changes; the call path asks the cached map's index. */
export function namespaceByName(map: FleetMap, name: string): Namespace | undefined {
  return Object.values(map.namespaces).find((one) => one.name === name && one.state !== 'deleted');
}

/** Why `next` must not follow `known`, or undefined if it may: revision and epochs never fall, nothing vanishes. */
export function goesBack(known: FleetMap, next: FleetMap): string | undefined {
  if (next.revision < known.revision)
    return `revision ${next.revision} is older than ${known.revision}`;
  for (const [id, namespace] of Object.entries(known.namespaces)) {
    const then = next.namespaces[id];
    if (then === undefined) return `namespace ${namespace.name} (${id}) is missing`;
    if (then.placement.epoch < namespace.placement.epoch) {
      return `namespace ${namespace.name} falls from epoch ${namespace.placement.epoch} to ${then.placement.epoch}`;
    }
  }
  return undefined;
}

/** Why these cannot be a namespace's own fields, for a person. */
export function wrongRegistration(
  asked: Pick<Namespace, 'name' | 'description' | 'ownerEmail' | 'data' | 'retentionMs'>,
): string | undefined {
  const limit = FLEET_LIMITS;
  if (asked.name === '') return 'Namespace is empty: give it a name.';
  if (asked.name.length > limit.maxNameLength || !NAMESPACE_NAME.test(asked.name)) {
    return `Namespace name is not valid: use 1 to ${limit.maxNameLength} letters, digits, '.', '_' or '-', beginning with a letter, digit or '_'.`;
  }
  if (!(asked.retentionMs >= limit.minRetentionMs && asked.retentionMs <= limit.maxRetentionMs)) {
    return 'Retention is not valid: set workflowExecutionRetentionPeriod to at least 1 day and at most 36500 days.';
  }
  if (asked.description.length > limit.maxDescriptionLength) {
    return `Description is longer than ${limit.maxDescriptionLength} characters.`;
  }
  if (asked.ownerEmail.length > limit.maxOwnerEmailLength) {
    return `Owner email is longer than ${limit.maxOwnerEmailLength} characters.`;
  }
  const data = Object.entries(asked.data);
  const length = data.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (data.length > limit.maxDataEntries || length > limit.maxDataLength) {
    return `Namespace data is larger than ${limit.maxDataEntries} entries or ${limit.maxDataLength} characters.`;
  }
  return undefined;
}

/** Why these cannot be the cells of a namespace, for a person. */
export function wrongReplicas(map: FleetMap, cells: readonly string[]): string | undefined {
  const unknown = cells.find((cell) => map.cells[cell] === undefined);
  if (unknown !== undefined) {
    return `Cell ${unknown} is not in the fleet map: register the cell first.`;
  }
  if (cells.length <= FLEET_LIMITS.maxReplicas) return undefined;
  return `${cells.length} cells; a namespace has at most ${FLEET_LIMITS.maxReplicas} (maxReplicas).`;
}

/** Why this cannot be asked of replication, for a person. */
export function wrongReplication(asked: Replication | undefined): string | undefined {
  if (asked === undefined) return undefined;
  if (asked.mode !== 'available') {
    return `Mode ${String(asked.mode)} needs a lease in a global etcd, which this release does not have: use mode available.`;
  }
  if (asked.maxLagMs !== undefined && !(asked.maxLagMs > 0)) {
    return 'The maximum lag must be above 0 ms: a lag of 0 needs mode fenced, which this release does not have.';
  }
  if (asked.policy === 'auto') {
    return "Policy auto is not there yet: a failover is a person's to command, use policy manual.";
  }
  return undefined;
}

function wrongCell(id: string, cell: Cell): string | undefined {
  if (!CELL_ID.test(id)) {
    return `Cell id '${id}' is not valid: use 1 to 63 lower-case letters, digits or '-', beginning with a letter or digit.`;
  }
  if (!ADDRESS.test(cell.address)) return `Cell ${id}: address '${cell.address}' is not host:port.`;
  if (cell.region === '') return `Cell ${id}: region is empty.`;
  if (!Number.isInteger(cell.shards) || cell.shards < 1 || cell.shards > FLEET_LIMITS.maxShards) {
    return `Cell ${id}: ${cell.shards} shards; use 1 to ${FLEET_LIMITS.maxShards}.`;
  }
  return undefined;
}

/** The map with that namespace in place of its row. */
export function withNamespace(map: FleetMap, namespace: Namespace): Change {
  return changed(map, { namespaces: { ...map.namespaces, [namespace.id]: namespace } });
}

function changed(map: FleetMap, part: Partial<Pick<FleetMap, 'cells' | 'namespaces'>>): Change {
  return { kind: 'changed', map: { ...map, ...part, revision: map.revision + 1 } };
}

/** What a change answers that must not be made. */
export function refuse(code: ErrorCode, message: string, detail?: ErrorDetail): Refusal {
  return detail === undefined
    ? { kind: 'refused', code, message }
    : { kind: 'refused', code, message, detail };
}
