/**
 * The fleet map's shape (D8): which cells there are, which namespaces, and where each namespace is active.
 *
 * Place: the one small document that routers and cells share. table.ts changes it (pure), fleet-map.ts is the port
 * that keeps it, cached-map.ts follows it. Plain JSON, so that a person can read it where it lies.
 *
 * Invariants
 *  1. `revision` grows by one with each change; an epoch never falls (D8).
 *  2. A name belongs to at most one namespace that is not deleted; an id is never given twice.
 *  3. Every placement names cells of this map, and `active` is one of its `replicas`.
 *  4. A namespace has at most one move that runs, and one that waits to be confirmed (move.ts).
 */
import type { Move } from './move.ts';

/**
 * The format that this release writes: 2 has replication and moves, which format 1 lacks and which may be absent. It
 * reads both; an unknown one is refused, never guessed (D17).
 */
export const FLEET_MAP_FORMAT = 2;

/** One complete engine in one region. */
export type Cell = {
  readonly region: string;
  /** `host:port` of its gRPC, as routers and other cells reach it. */
  readonly address: string;
  /** Fixed for the life of the cell (D2). */
  readonly shards: number;
  /** The id of its database: it serves from no other one. Absent: in memory, or of an older release. */
  readonly database?: string | undefined;
};

/**
 * Where a namespace stands in a move. Planned moves (PROTOCOLS 8) go through `handover`; the flip is one change. A move
 * has at most one handover, so its id names the very record that flip and rollback compare.
 */
export type PlacementState =
  | { readonly kind: 'active' }
  | { readonly kind: 'handover'; readonly moveId: string; readonly to: string };

export type Placement = {
  /** The cell that may write. During `handover` it still is: the flip changes it. */
  readonly active: string;
  /** Every cell that keeps a copy, `active` among them. */
  readonly replicas: readonly string[];
  /** From 1; grows with every change of `active`, never falls. */
  readonly epoch: number;
  /** The newest epoch that a forced failover began: what it knows of runs may not be all. Absent: none did. */
  readonly forcedEpoch?: number | undefined;
  readonly state: PlacementState;
};

/** What a namespace asks of its replication (D10). */
export type Replication = {
  /** `available`: fails over although the old side may still write. `fenced` waits for a lease in a global etcd. */
  readonly mode: 'available';
  /** The largest lag that is fine, ms; absent: any. */
  readonly maxLagMs?: number | undefined;
  /** Who decides a failover: a person, or the fleet itself while the estimated loss is at most `maxLossMs`. */
  readonly policy: 'manual' | 'auto';
  /** Of policy `auto`: the largest estimated loss, ms of writes. */
  readonly maxLossMs?: number | undefined;
};

export type NamespaceLife = 'registered' | 'deprecated' | 'deleted';

export type Namespace = {
  /** A UUID: what everything stored is keyed by. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly ownerEmail: string;
  readonly data: Readonly<Record<string, string>>;
  /** How long closed runs are kept, in milliseconds. */
  readonly retentionMs: number;
  /** Milliseconds since 1970. */
  readonly registeredAt: number;
  readonly state: NamespaceLife;
  /** Name → type number (`IndexedValueType`). */
  readonly customSearchAttributes: Readonly<Record<string, number>>;
  readonly placement: Placement;
  /** Absent: `DEFAULT_REPLICATION`. */
  readonly replication?: Replication | undefined;
  /** The newest moves, oldest first (`maxMovesKept`). Absent: none yet. */
  readonly moves?: readonly Move[] | undefined;
};

export const DEFAULT_REPLICATION: Replication = { mode: 'available', policy: 'manual' };

export type FleetMap = {
  readonly format: typeof FLEET_MAP_FORMAT;
  /** 0 for the empty map that nobody has written yet. */
  readonly revision: number;
  readonly cells: Readonly<Record<string, Cell>>;
  /** By namespace id. */
  readonly namespaces: Readonly<Record<string, Namespace>>;
};

/** What a store holds before the first change. */
export const EMPTY_FLEET_MAP: FleetMap = {
  format: FLEET_MAP_FORMAT,
  revision: 0,
  cells: {},
  namespaces: {},
};
