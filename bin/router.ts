/** `atoll router`: a router as a process of its own. It holds no state; run as many as are needed. */
import { join, resolve } from 'node:path';
import { CachedFleetMap } from '../fleet/cached-map.ts';
import { FileFleetMap } from '../fleet/file/fleet-map.ts';
import { fileLastKnownMap } from '../fleet/file/last-known-map.ts';
import { opossumBreakers } from '../kernel/breaker-opossum.ts';
import { systemClock } from '../kernel/clock.ts';
import type { Lifecycle } from '../kernel/lifecycle.ts';
import type { Log } from '../kernel/log.ts';
import { systemRng } from '../kernel/rng.ts';
import type { RouterConfig } from '../router/config.ts';
import { startRouter, type RunningRouter } from '../router/router.ts';
import { portAccess, type PortOptions } from './access.ts';
import { startOps, type OpsOptions } from './ops.ts';
import { cellTlsFiles, clientTls, type CellTlsOptions } from './tls.ts';

/** How calls of a namespace that moves are held (router/config.ts). */
export type HoldOptions = Pick<
  RouterConfig,
  'holdMs' | 'heldCalls' | 'heldCallsPerNamespace' | 'heldBytes' | 'heldBytesPerNamespace'
>;

export type RouterProcessOptions = {
  readonly host: string;
  readonly port: number;
  /** Folder of the fleet map. */
  readonly fleet: string;
  /** Whose cells get new namespaces that name no region; empty: any. */
  readonly region?: string | undefined;
  readonly namespaceCallsPerSecond?: number | undefined;
  readonly namespaceStartsPerSecond?: number | undefined;
} & Partial<HoldOptions> &
  CellTlsOptions &
  OpsOptions &
  PortOptions;

/** A cell that restarts is back within a second; one that is away costs nobody a wait. */
export const CELL_BREAKER = { failures: 3, resetMs: 500 } as const;

/** Starts the router into `lifecycle`. */
export async function runRouter(
  options: RouterProcessOptions,
  ports: { readonly lifecycle: Lifecycle; readonly log: Log },
): Promise<RunningRouter> {
  const { lifecycle, log } = ports;
  const clock = systemClock;
  const rng = systemRng;
  const { tls, rights } = await portAccess(options, { clock, log });
  const cellTls = await clientTls(cellTlsFiles(options), { clock, log });
  const ops = await startOps(options, ports);
  let serving = false;
  ops.require(() => (serving ? undefined : 'it is starting'));
  const store = await FileFleetMap.open(options.fleet, { clock, rng, log });
  const lastKnown = fileLastKnownMap(
    join(options.fleet, `last-known-router-${options.port}.json`),
    rng,
  );
  const map = await CachedFleetMap.open({ store, log, clock, lastKnown });
  await lifecycle.start({ name: 'fleet map', stop: () => map.close() });
  const { host, port } = options;
  const router = await startRouter({
    listen: { host, port },
    map,
    log,
    clock,
    rng,
    metrics: ops.metrics,
    tls,
    cellTls,
    rights,
    makeBreaker: opossumBreakers(CELL_BREAKER),
    config: routerConfigOf(options),
  });
  const hasCell = () => Object.keys(map.map.cells).length > 0;
  ops.require(() => (hasCell() ? undefined : 'the fleet map has no cell'));
  serving = true;
  await lifecycle.start({ name: 'router', stop: () => router.close(), stopTimeoutMs: 4_000 });
  const address = `${router.address.host}:${router.address.port}`;
  if (!hasCell()) {
    const fleet = resolve(options.fleet);
    log.warn({ fleet }, 'the fleet map there has no cell yet: start one with the same --fleet');
  }
  log.info({ address, router: `http://${address}` }, 'ready');
  return router;
}

/** What the flags say of the configuration; the rest is its default. */
export function routerConfigOf(options: RouterProcessOptions): Partial<RouterConfig> {
  const { region = '' } = options;
  const given = Object.fromEntries(
    CONFIGURED.map((name) => [name, options[name]]).filter(([, value]) => value !== undefined),
  ) as Partial<RouterConfig>;
  return { ...given, defaultRegion: region === '' ? undefined : region };
}

/** The values that have flags. */
export const CONFIGURED = [
  'namespaceCallsPerSecond',
  'namespaceStartsPerSecond',
  'holdMs',
  'heldCalls',
  'heldCallsPerNamespace',
  'heldBytes',
  'heldBytesPerNamespace',
] as const satisfies readonly (keyof RouterConfig & keyof RouterProcessOptions)[];
