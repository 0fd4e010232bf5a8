/**
 * `atoll dev`: a whole fleet in one process: a router, two cells in two regions, namespace `default`, on an embedded
 * PostgreSQL of its own or in memory.
 */
import { join, resolve } from 'node:path';
import type { EmbeddedPostgres } from '../cell/storage/sql/embedded.ts';
import type { ShardLog } from '../cell/storage/shard-log.ts';
import { CachedFleetMap } from '../fleet/cached-map.ts';
import { FileFleetMap } from '../fleet/file/fleet-map.ts';
import type { FleetMapStore } from '../fleet/fleet-map.ts';
import { MemoryFleetMap } from '../fleet/memory/fleet-map.ts';
import { updateNamespace } from '../fleet/namespace-update.ts';
import { registerNamespace } from '../fleet/table.ts';
import { opossumBreakers } from '../kernel/breaker-opossum.ts';
import { systemClock } from '../kernel/clock.ts';
import { withDeadline } from '../kernel/deadline.ts';
import { AtollError } from '../kernel/errors.ts';
import type { Lifecycle } from '../kernel/lifecycle.ts';
import type { Log } from '../kernel/log.ts';
import { systemRng } from '../kernel/rng.ts';
import { startRouter } from '../router/router.ts';
import { warm } from '../wire/services.ts';
import type { TokenKeyRing } from '../wire/signed-token.ts';
import type { CellStorageOptions } from './cell-storage.ts';
import { checkPort } from './doctor-machine.ts';
import { CELL_BREAKER } from './router.ts';
import { fencedExit } from './fenced-exit.ts';
import { missingShards } from './cell-metrics.ts';
import { startOps, type OpsOptions } from './ops.ts';
import { startAdmin } from './start-admin.ts';
import { startCell } from './start-cell.ts';
import { loadKeyRing, throwawayKeyRing } from './token-keys.ts';

export type DevOptions = {
  readonly host: string;
  readonly port: number;
  /** The data folder; undefined = in memory. */
  readonly data: string | undefined;
  readonly namespaces: readonly string[];
  /** Custom search attributes of those namespaces: name → type number. */
  readonly searchAttributes?: Readonly<Record<string, number>> | undefined;
  /** The port of operators' commands; by default, or where it is in use, a free one. */
  readonly adminPort?: number | undefined;
  /** The metrics port; off by default. */
  readonly ops?: OpsOptions | undefined;
};

export type RunningDev = {
  readonly address: string;
  /** `host:port` of atoll.admin.v1. */
  readonly admin: string;
  readonly dataDir: string | undefined;
};

const CELLS = [
  { id: 'a', region: 'region-1' },
  { id: 'b', region: 'region-2' },
] as const;
const SHARDS = 4;
const DAY_MS = 24 * 3_600_000;
const CALL_MS = 5_000;

type Ground = {
  readonly store: FleetMapStore;
  readonly tokens: TokenKeyRing;
  readonly dataDir: string | undefined;
  readonly relocatedFrom: string | undefined;
  storageOf(cell: string): CellStorageOptions;
};

/** Starts everything, part by part, into `lifecycle`; its `stop` undoes it in reverse. `wrapLog` is the torture harness's. */
export async function startDev(
  options: DevOptions,
  ports: {
    readonly lifecycle: Lifecycle;
    readonly log: Log;
    readonly wrapLog?: ((log: ShardLog) => ShardLog) | undefined;
  },
): Promise<RunningDev> {
  const { lifecycle, log, wrapLog } = ports;
  const ops = await startOps(options.ops ?? {}, ports);
  let serving = false;
  ops.require(() => (serving ? undefined : 'it is starting'));
  const ground = await layGround(options, ports);
  const { store, tokens } = ground;
  const map = await CachedFleetMap.open({ store, log, clock: systemClock });
  await lifecycle.start({ name: 'fleet map', stop: () => map.close() });
  const cellPorts = { clock: systemClock, rng: systemRng, log, map, tokens };
  const cells = await Promise.all(
    CELLS.map((cell) =>
      startCell(
        {
          ...cell,
          listen: { host: '127.0.0.1', port: 0 },
          shards: SHARDS,
          storage: ground.storageOf(cell.id),
          onShardStopped: fencedExit(log),
          wrapLog,
          ops,
        },
        cellPorts,
      ),
    ),
  );
  await lifecycle.start({
    name: 'cells',
    stop: () => Promise.all(cells.map((cell) => cell.close())).then(() => {}),
  });
  for (const name of options.namespaces) {
    await ensureNamespace(map, name);
    await addSearchAttributes(map, name, options.searchAttributes ?? {});
  }
  const router = await startRouter({
    listen: { host: options.host, port: options.port },
    map,
    log: log.child({ role: 'router' }),
    clock: systemClock,
    rng: systemRng,
    config: { drainMs: 300 },
    metrics: ops.metrics,
    makeBreaker: opossumBreakers(CELL_BREAKER),
  });
  await lifecycle.start({ name: 'router', stop: () => router.close() });
  const admin = await startAdmin(
    { host: options.host, port: options.adminPort ?? 0, orFreePort: true },
    { lifecycle, log, map, tokens },
  );
  for (const cell of cells) ops.require(() => missingShards(cell.host));
  serving = true;
  const address = `${router.address.host}:${router.address.port}`;
  sayReady(log, {
    address,
    ground,
    admin: admin.address,
    cells: cells.map((cell) => cell.address),
  });
  // Whoever waits for the first answer waits for less: nothing of this is needed to give it.
  setImmediate(warm);
  return { address, admin: admin.address, dataDir: ground.dataDir };
}

/** @throws AtollError when the router's port cannot be had */
async function probePort({ host, port }: DevOptions): Promise<void> {
  const { what, state, says } = await checkPort(host, port);
  if (state === 'wrong') throw new AtollError('failed-precondition', `${what}: ${says}`);
}

/** What lies under the cells: databases, fleet map, token keys. */
async function layGround(
  options: DevOptions,
  { lifecycle, log }: { readonly lifecycle: Lifecycle; readonly log: Log },
): Promise<Ground> {
  const clock = systemClock;
  const rng = systemRng;
  if (options.data === undefined) {
    return {
      store: new MemoryFleetMap(),
      tokens: throwawayKeyRing(rng),
      dataDir: undefined,
      relocatedFrom: undefined,
      storageOf: () => ({ kind: 'memory' }),
    };
  }
  // Before a database is made, which takes long: whose port is taken wants to know at once.
  await probePort(options);
  const asked = resolve(options.data);
  let postgres: EmbeddedPostgres | undefined;
  await lifecycle.start({
    name: 'PostgreSQL',
    start: async () => {
      // Loaded only here: a server in memory starts sooner without it.
      const { startEmbeddedPostgres } = await import('../cell/storage/sql/embedded.ts');
      const onRestart = () => log.warn({}, 'PostgreSQL had died and was started again');
      postgres = await startEmbeddedPostgres({
        dataDir: join(asked, 'postgres'),
        clock,
        rng,
        log: log.child({ role: 'postgres' }),
        onRestart,
      });
      postgres.onExit((cause) => {
        log.error({ err: cause }, 'PostgreSQL died and did not start again: see its log');
        process.exitCode = 1;
        process.kill(process.pid, 'SIGTERM');
      });
    },
    stop: async () => postgres?.stop(),
    stopTimeoutMs: 4_000,
  });
  const running = postgres;
  if (!running) throw new Error('PostgreSQL did not start');
  const dataDir = running.relocatedFrom === undefined ? asked : running.dataDir;
  const fleet = join(asked, 'fleet');
  return {
    store: await FileFleetMap.open(fleet, { clock, rng, log }),
    tokens: await loadKeyRing(fleet, rng),
    dataDir,
    relocatedFrom: running.relocatedFrom,
    storageOf: (cell) => ({ kind: 'postgres', url: running.url(`atoll_cell_${cell}`) }),
  };
}

async function ensureNamespace(map: CachedFleetMap, name: string): Promise<void> {
  if (map.namespaceByName(name)) return;
  const options = { what: `registering namespace ${name}`, timeoutMs: CALL_MS };
  const registration = {
    id: systemRng.uuid(),
    name,
    description: 'made by atoll dev',
    ownerEmail: '',
    data: {},
    retentionMs: DAY_MS,
    registeredAt: systemClock.now(),
    cell: CELLS[0].id,
  };
  await withDeadline(systemClock, options, (signal) =>
    map.update((known) => registerNamespace(known, registration), signal),
  );
}

async function addSearchAttributes(
  map: CachedFleetMap,
  name: string,
  attributes: Readonly<Record<string, number>>,
): Promise<void> {
  const options = { what: `adding search attributes to ${name}`, timeoutMs: CALL_MS };
  const update = { name, addSearchAttributes: attributes };
  await withDeadline(systemClock, options, (signal) =>
    map.update((known) => updateNamespace(known, update), signal),
  );
}

function sayReady(
  log: Log,
  ready: {
    readonly address: string;
    readonly admin: string;
    readonly ground: Ground;
    readonly cells: readonly string[];
  },
): void {
  const { address, admin, ground, cells } = ready;
  const data = ground.dataDir ?? 'in memory: gone at the end';
  const moved =
    ground.relocatedFrom === undefined
      ? {}
      : {
          movedFrom: ground.relocatedFrom,
          why: 'PostgreSQL does not run as root, and its user cannot reach that folder',
        };
  const urls = { router: `http://${address}`, admin: `http://${admin}` };
  log.info({ address, ...urls, cells, data, ...moved }, 'ready');
}
