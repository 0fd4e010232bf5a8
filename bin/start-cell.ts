/**
 * Composes one cell: storage, visibility, matching, shards, frontend, server. `atoll cell` runs one, `atoll dev` two.
 *
 * Invariants
 *  1. The cell enters the fleet map only once it serves.
 *  2. Close takes no new calls, then writes what memory holds, then lets the database go.
 */
import type { SecureClientSessionOptions, SecureServerOptions } from 'node:http2';
import { allowAll, type Authoriser } from '../cell/frontend/authorise.ts';
import { defaultFrontendConfig } from '../cell/frontend/config.ts';
import { FleetAdmission } from '../cell/frontend/fleet-admission.ts';
import { Frontend } from '../cell/frontend/frontend.ts';
import { frontendRpcHandler } from '../cell/frontend/rpc-handler.ts';
import type { ActivityStartedReply } from '../cell/history/decision.ts';
import { InMemoryMatching } from '../cell/matching/in-memory-matching.ts';
import { allShards } from '../cell/membership/single.ts';
import { shardConfig, type ShardConfig } from '../cell/shard/config.ts';
import { PlacementViews } from '../cell/shard/placement-views.ts';
import { ShardHost } from '../cell/shard/shard-host.ts';
import type { Stop } from '../cell/shard/shard-owner.ts';
import type { ShardId, ShardLog } from '../cell/storage/shard-log.ts';
import type { CachedFleetMap } from '../fleet/cached-map.ts';
import { needsDatabase, registerCell } from '../fleet/table.ts';
import type { Clock } from '../kernel/clock.ts';
import { withDeadline } from '../kernel/deadline.ts';
import { AtollError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { Rng } from '../kernel/rng.ts';
import { RpcServer } from '../kernel/rpc/server.ts';
import type { ReplicationConfig } from '../replication/config.ts';
import { encodeStatusDetails } from '../wire/failures.ts';
import type { TokenKeyRing } from '../wire/signed-token.ts';
import { measureCell } from './cell-metrics.ts';
import { openCellStorage, type CellStorageOptions, type KnownDatabase } from './cell-storage.ts';
import { NO_OPS, type Ops } from './ops.ts';
import { composeReplication } from './replication.ts';

export type CellOptions = {
  readonly id: string;
  readonly region: string;
  /** Port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** The address for the fleet map, made of the port that was bound; what it listens on by default. */
  readonly advertise?: ((port: number) => string) | undefined;
  readonly shards: number;
  readonly storage: CellStorageOptions;
  /** It begins anew on another database than the fleet map names. */
  readonly newDatabase?: boolean | undefined;
  readonly shard?: Partial<ShardConfig>;
  /** A shard stopped for good. */
  readonly onShardStopped: (shard: ShardId, stop: Stop) => void;
  /** Wraps the log port: the torture harness puts its faults here. */
  readonly wrapLog?: ((log: ShardLog) => ShardLog) | undefined;
  /** Where its metrics go; nowhere by default. */
  readonly ops?: Ops | undefined;
  /** Who may do what; everybody everything by default. */
  readonly authoriser?: Authoriser | undefined;
  /** TLS towards other cells; cleartext by default. */
  readonly peerTls?: SecureClientSessionOptions | undefined;
  /** Bounds and paces of its lanes. */
  readonly replication?: Partial<ReplicationConfig> | undefined;
  /** TLS on its port; cleartext by default. */
  readonly tls?: SecureServerOptions | undefined;
};

export type CellPorts = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
  readonly map: CachedFleetMap;
  readonly tokens: TokenKeyRing;
};

export type RunningCell = {
  /** `host:port`, as the fleet map has it. */
  readonly address: string;
  readonly host: ShardHost;
  close(): Promise<void>;
};

/** Calls in flight at a stop are told at once; this is what their answers may still take. */
const CLOSE_GRACE_MS = 500;
const REGISTER_MS = 5_000;

export async function startCell(options: CellOptions, ports: CellPorts): Promise<RunningCell> {
  const { clock, rng, map, tokens } = ports;
  const log = ports.log.child({ cell: options.id });
  const storage = await openCellStorage(
    { ...options, known: databaseOf(options, map) },
    { clock, rng, log },
  );
  const measured = measureCell(options.ops ?? NO_OPS, { cell: options.id, clock });
  const queues = new InMemoryMatching<ActivityStartedReply>({ clock });
  const matching = measured.matching(queues);
  const shardLog = measured.log(storage.log);
  const replication = composeReplication(
    { cellId: options.id, tls: options.peerTls, config: options.replication },
    { ...ports, ...storage, log, metrics: measured.metrics },
  );
  const placements = new PlacementViews(map, options.id);
  const host = new ShardHost({
    log: options.wrapLog ? options.wrapLog(shardLog) : shardLog,
    views: storage.views,
    index: storage.visibility,
    matching,
    clock,
    rng,
    logger: log,
    config: shardConfig(options.shard),
    shardCount: options.shards,
    shards: allShards(options.shards),
    epochOf: (namespaceId) => map.namespaceById(namespaceId)?.placement.epoch ?? 0,
    placementOf: (namespaceId) => placements.of(namespaceId),
    lanes: replication.lanes,
    timerRang: measured.timerRang,
    onShardStopped: options.onShardStopped,
  });
  const frontend = new Frontend({
    engine: measured.engine(host),
    matching,
    visibility: storage.visibility,
    admission: new FleetAdmission(map, options.id),
    authoriser: options.authoriser ?? allowAll,
    tokens,
    clock,
    rng,
    log,
    config: defaultFrontendConfig,
  });
  measured.look(host, queues);
  const served = frontendRpcHandler({ frontend, log, isServing: () => true });
  const handle = replication.handler(measured.handler(served));
  replication.start(host.replicas(replication.losses));
  const { tls } = options;
  const server = new RpcServer({ handle, encodeDetails: encodeStatusDetails, clock, tls });
  const close = async () => {
    await server.close({ graceMs: CLOSE_GRACE_MS });
    await replication.close();
    await host.close();
    storage.close();
  };
  try {
    const bound = await server.listen(options.listen);
    const address = options.advertise?.(bound.port) ?? `${bound.host}:${bound.port}`;
    await host.open();
    replication.follow();
    await register(options, ports, { address, database: storage.databaseId });
    log.info({ address, shards: options.shards }, 'cell is serving');
    return { address, host, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The database that it has to be; undefined: any. @throws AtollError `failed-precondition` where it may not begin anew */
function databaseOf(
  { id, newDatabase = false }: CellOptions,
  map: CachedFleetMap,
): KnownDatabase | undefined {
  const cell = map.cell(id);
  if (!newDatabase) return cell && { databaseId: cell.database };
  const needed = needsDatabase(map.map, id);
  if (needed !== undefined) throw new AtollError('failed-precondition', needed);
  return undefined;
}

/** From here on routers send calls to it. */
async function register(
  options: CellOptions,
  { clock, map }: CellPorts,
  { address, database }: { readonly address: string; readonly database: string | undefined },
) {
  const { id, region, shards, newDatabase = false } = options;
  const deadline = { what: 'registering the cell in the fleet map', timeoutMs: REGISTER_MS };
  const cell = { region, address, shards, ...(database === undefined ? {} : { database }) };
  await withDeadline(clock, deadline, (signal) =>
    map.update((known) => registerCell(known, id, cell, { newDatabase }), signal),
  );
}
