/**
 * Composes an admin: the service `atoll.admin.v1` on a port, and an orchestrator that drives moves. `atoll admin` runs
 * one, `atoll dev` another.
 */
import type { SecureClientSessionOptions, SecureServerOptions } from 'node:http2';
import { Orchestrator } from '../admin/moves/orchestrator.ts';
import type { CellDirectory, MovePorts } from '../admin/moves/ports.ts';
import { adminRpcHandler } from '../admin/service/admin-service.ts';
import type { CachedFleetMap } from '../fleet/cached-map.ts';
import type { Rights } from '../fleet/rights.ts';
import { systemClock } from '../kernel/clock.ts';
import { AtollError } from '../kernel/errors.ts';
import type { Lifecycle } from '../kernel/lifecycle.ts';
import type { Log } from '../kernel/log.ts';
import { systemRng } from '../kernel/rng.ts';
import { RpcServer } from '../kernel/rpc/server.ts';
import { CellControlClient } from '../replication/control/cell-control-client.ts';
import { CellCalls } from '../replication/rpc/cell-calls.ts';
import { encodeStatusDetails } from '../wire/failures.ts';
import type { TokenKeyRing } from '../wire/signed-token.ts';

export type AdminOptions = {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Takes a free port where the one asked for is in use: for one person's machine. */
  readonly orFreePort?: boolean | undefined;
  readonly tls?: SecureServerOptions | undefined;
  /** Towards the cells; undefined: cleartext. */
  readonly cellTls?: SecureClientSessionOptions | undefined;
  readonly rights?: Rights | undefined;
};

/** Wraps what the orchestrator sees of map and cells: the torture harness puts its faults here. */
export type WrapMoves = (
  seen: Pick<MovePorts, 'map' | 'cells'>,
) => Pick<MovePorts, 'map' | 'cells'>;

export type RunningAdmin = { readonly address: string };

const CLOSE_GRACE_MS = 500;

/** Starts it into `lifecycle`. */
export async function startAdmin(
  options: AdminOptions,
  ports: {
    readonly lifecycle: Lifecycle;
    readonly log: Log;
    readonly map: CachedFleetMap;
    readonly tokens: TokenKeyRing;
    readonly wrapMoves?: WrapMoves | undefined;
  },
): Promise<RunningAdmin> {
  const { lifecycle, map, tokens } = ports;
  const log = ports.log.child({ role: 'admin' });
  const clock = systemClock;
  const rng = systemRng;
  const driverId = `admin-${rng.uuid().slice(0, 8)}`;
  const caller = { role: 'admin', name: driverId } as const;
  const calls = new CellCalls({ caller, map, tokens, clock, tls: options.cellTls });
  const cells: CellDirectory = { control: (cell) => new CellControlClient(cell, calls) };
  const { rights } = options;
  const seen = ports.wrapMoves?.({ map, cells }) ?? { map, cells };
  const orchestrator = new Orchestrator({ ...seen, clock, log, driverId });
  const server = new RpcServer({
    handle: adminRpcHandler({ map, cells, clock, rng, log, rights, driverId }),
    encodeDetails: encodeStatusDetails,
    clock,
    tls: options.tls,
  });
  const bound = await listen(server, options);
  const address = `${bound.host}:${bound.port}`;
  if (options.port !== 0 && bound.port !== options.port) {
    const asked = `${options.host}:${options.port}`;
    // Commands would call the program there, which may be another fleet.
    log.warn({ asked, admin: address }, 'the admin port is in use: give commands this --address');
  }
  orchestrator.start();
  const stop = async () => {
    await server.close({ graceMs: CLOSE_GRACE_MS });
    await orchestrator.close();
    calls.close();
  };
  await lifecycle.start({ name: 'admin', stop });
  return { address };
}

async function listen(server: RpcServer, { host, port, orFreePort = false }: AdminOptions) {
  try {
    return await server.listen({ host, port });
  } catch (error) {
    const inUse = error instanceof AtollError && error.code === 'failed-precondition';
    if (!inUse || !orFreePort || port === 0) throw error;
    return server.listen({ host, port: 0 });
  }
}
