/** `atoll admin`: the operators' API and an orchestrator, as a process of its own. Any number may run; one drives a move. */
import { join } from 'node:path';
import { CachedFleetMap } from '../fleet/cached-map.ts';
import { FileFleetMap } from '../fleet/file/fleet-map.ts';
import { fileLastKnownMap } from '../fleet/file/last-known-map.ts';
import { systemClock } from '../kernel/clock.ts';
import type { Lifecycle } from '../kernel/lifecycle.ts';
import type { Log } from '../kernel/log.ts';
import { systemRng } from '../kernel/rng.ts';
import { portAccess, type PortOptions } from './access.ts';
import { startAdmin, type RunningAdmin, type WrapMoves } from './start-admin.ts';
import { clientTls } from './tls.ts';
import { loadKeyRing } from './token-keys.ts';

export type AdminProcessOptions = {
  readonly host: string;
  readonly port: number;
  /** Folder of the fleet map and the token keys, shared by all processes of the fleet. */
  readonly fleet: string;
  readonly cellTlsCa?: string | undefined;
  readonly cellTlsCert?: string | undefined;
  readonly cellTlsKey?: string | undefined;
} & PortOptions;

/** Starts the admin into `lifecycle`. `wrapMoves` is the torture harness's. */
export async function runAdmin(
  options: AdminProcessOptions,
  ports: {
    readonly lifecycle: Lifecycle;
    readonly log: Log;
    readonly wrapMoves?: WrapMoves | undefined;
  },
): Promise<RunningAdmin> {
  const { lifecycle, log } = ports;
  const clock = systemClock;
  const rng = systemRng;
  const { tls, rights } = await portAccess(options, { clock, log });
  const { cellTlsCert: cert = '', cellTlsKey: key = '', cellTlsCa: ca = '' } = options;
  const cellTls = await clientTls({ cert, key, ca, flag: '--cell-tls' }, { clock, log });
  const store = await FileFleetMap.open(options.fleet, { clock, rng, log });
  const path = join(options.fleet, `last-known-admin-${options.port}.json`);
  const lastKnown = fileLastKnownMap(path, rng);
  const map = await CachedFleetMap.open({ store, log, clock, lastKnown });
  await lifecycle.start({ name: 'fleet map', stop: () => map.close() });
  const tokens = await loadKeyRing(options.fleet, rng);
  const { host, port } = options;
  const admin = await startAdmin({ host, port, tls, rights, cellTls }, { ...ports, map, tokens });
  log.info({ address: admin.address, admin: `http://${admin.address}` }, 'ready');
  return admin;
}
