/** `atoll cell`: one cell as a process of its own, on a PostgreSQL database of its own. */
import { join } from 'node:path';
import { RightsAuthoriser } from '../cell/frontend/rights-authoriser.ts';
import type { ShardLog } from '../cell/storage/shard-log.ts';
import { CachedFleetMap } from '../fleet/cached-map.ts';
import { FileFleetMap } from '../fleet/file/fleet-map.ts';
import { fileLastKnownMap } from '../fleet/file/last-known-map.ts';
import { systemClock } from '../kernel/clock.ts';
import type { Lifecycle } from '../kernel/lifecycle.ts';
import type { Log } from '../kernel/log.ts';
import { systemRng } from '../kernel/rng.ts';
import type { ReplicationConfig } from '../replication/config.ts';
import { warm } from '../wire/services.ts';
import { fencedExit } from './fenced-exit.ts';
import { portAccess, type PortOptions } from './access.ts';
import { advertisedAddress } from './advertise.ts';
import { missingShards } from './cell-metrics.ts';
import { startOps, type OpsOptions } from './ops.ts';
import { startCell, type RunningCell } from './start-cell.ts';
import { cellTlsFiles, clientTls, type CellTlsOptions } from './tls.ts';
import { loadKeyRing } from './token-keys.ts';

export type CellProcessOptions = {
  readonly cellId: string;
  readonly region: string;
  readonly host: string;
  readonly port: number;
  /** `HOST` or `HOST:PORT` for the fleet map; empty: where it listens. */
  readonly advertise?: string | undefined;
  readonly shards: number;
  readonly postgresUrl: string;
  /** Begins anew on a database that is not the one that the fleet map names. */
  readonly newDatabase?: boolean | undefined;
  /** Folder of the fleet map and the token keys, shared by all routers and cells of the fleet. */
  readonly fleet: string;
  /** Steps a second that one namespace sends to one replica (replication/config.ts). */
  readonly laneItemsPerSecond?: number | undefined;
} & CellTlsOptions &
  OpsOptions &
  PortOptions;

/** Starts the cell into `lifecycle`. `wrapLog` is the torture harness's. */
export async function runCell(
  options: CellProcessOptions,
  ports: {
    readonly lifecycle: Lifecycle;
    readonly log: Log;
    readonly wrapLog?: ((log: ShardLog) => ShardLog) | undefined;
  },
): Promise<RunningCell> {
  const { lifecycle, log, wrapLog } = ports;
  const clock = systemClock;
  const rng = systemRng;
  const { tls, rights } = await portAccess(options, { clock: systemClock, log });
  const peerTls = await clientTls(cellTlsFiles(options), { clock, log });
  const advertise = advertisedAddress(options);
  const ops = await startOps(options, ports);
  let missing = (): string | undefined => 'it is starting';
  ops.require(() => missing());
  const store = await FileFleetMap.open(options.fleet, { clock, rng, log });
  const lastKnown = fileLastKnownMap(
    join(options.fleet, `last-known-cell-${options.cellId}.json`),
    rng,
  );
  const map = await CachedFleetMap.open({ store, log, clock, lastKnown });
  await lifecycle.start({ name: 'fleet map', stop: () => map.close() });
  const tokens = await loadKeyRing(options.fleet, rng);
  warm();
  const cell = await startCell(
    {
      id: options.cellId,
      region: options.region,
      listen: { host: options.host, port: options.port },
      advertise,
      shards: options.shards,
      storage: { kind: 'postgres', url: options.postgresUrl },
      newDatabase: options.newDatabase,
      onShardStopped: fencedExit(log),
      wrapLog,
      ops,
      tls,
      peerTls,
      replication: laneQuota(options),
      authoriser: rights && new RightsAuthoriser(rights),
    },
    { clock, rng, log, map, tokens },
  );
  missing = () => missingShards(cell.host);
  await lifecycle.start({ name: 'cell', stop: () => cell.close(), stopTimeoutMs: 4_000 });
  log.info({ address: cell.address, cell: options.cellId }, 'ready');
  return cell;
}

function laneQuota({ laneItemsPerSecond }: CellProcessOptions): Partial<ReplicationConfig> {
  return laneItemsPerSecond === undefined ? {} : { laneItemsPerSecond };
}
