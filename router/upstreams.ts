/**
 * The connections to the cells, by address.
 *
 * Place: under attempt.ts. Routers and cells call each other over links (kernel/link).
 *
 * Invariants
 *  1. One pool for each address of the map; pools of addresses that left the map are closed (P11).
 *  2. A cell that several connections in turn did not reach is not waited for: callers hear so at once, until a
 *     connection that no call waits for has reached it again. A connection counts as made once the cell has spoken on
 *     it, since the kernel of a stopped process accepts connections, too.
 */
import type { ConnectionOptions } from 'node:tls';
import type { Breaker, MakeBreaker } from '../kernel/breaker.ts';
import type { Clock } from '../kernel/clock.ts';
import { AtollError } from '../kernel/errors.ts';
import { LinkPool, type LinkWatch } from '../kernel/link/link-pool.ts';
import type { Link } from '../kernel/link/link.ts';
import type { FleetMap } from '../fleet/map.ts';
import { runningMove } from '../fleet/move.ts';

export type UpstreamOptions = {
  /** Connections to each cell. */
  readonly links: number;
  readonly clock: Clock;
  readonly makeBreaker: MakeBreaker;
  readonly onBreaker: (address: string, isOpen: boolean) => void;
  readonly tls?: ConnectionOptions | undefined;
};

type Upstream = { readonly pool: LinkPool; readonly breaker: Breaker };

/** A cell is in the region, or near it: one that takes longer is not there. */
const CONNECT_MS = 2_000;
const PING_EVERY_MS = 2_000;
const PING_MS = 3_000;

export class Upstreams {
  readonly #options: UpstreamOptions;
  readonly #upstreams = new Map<string, Upstream>();

  constructor(options: UpstreamOptions) {
    this.#options = options;
  }

  /** A connection to that address, perhaps still being made. Throws `unavailable` after `close` or while it is away. */
  link(address: string): Link {
    const { pool, breaker } = this.#upstreams.get(address) ?? this.#make(address);
    if (breaker.isOpen) {
      throw new AtollError('unavailable', `The cell at ${address} does not answer: try again.`);
    }
    return pool.next();
  }

  /** Connects to the cells that a namespace moves to, so that no call that was held waits for it, or fails with it. */
  prepare(map: FleetMap): void {
    for (const namespace of Object.values(map.namespaces)) {
      const to = runningMove(namespace)?.to;
      const address = to === undefined ? undefined : map.cells[to]?.address;
      if (address === undefined) continue;
      const { pool, breaker } = this.#upstreams.get(address) ?? this.#make(address);
      for (let link = 0; link < this.#options.links && !breaker.isOpen; link += 1) pool.next();
    }
  }

  /** Closes the pools of cells that have left the map or changed their address. */
  keepOnly(map: FleetMap): void {
    const addresses = new Set(Object.values(map.cells).map((cell) => cell.address));
    for (const [address, upstream] of this.#upstreams) {
      if (addresses.has(address)) continue;
      close(upstream);
      this.#upstreams.delete(address);
    }
  }

  close(): void {
    for (const upstream of this.#upstreams.values()) close(upstream);
  }

  #make(address: string): Upstream {
    const { links, clock, tls, makeBreaker, onBreaker } = this.#options;
    const pool = new LinkPool(address, {
      ...{ links, clock, tls, watch: () => watchFor(breaker) },
      ...{ connectTimeoutMs: CONNECT_MS, pingEveryMs: PING_EVERY_MS, pingTimeoutMs: PING_MS },
    });
    const breaker = makeBreaker({
      name: address,
      tryAgain: () => void pool.next(),
      onChange: (isOpen) => onBreaker(address, isOpen),
    });
    const upstream = { pool, breaker };
    this.#upstreams.set(address, upstream);
    return upstream;
  }
}

/** A new connection is an attempt to reach the cell; one that breaks later says as much of it as one that fails. */
function watchFor(breaker: Breaker): LinkWatch {
  let spoken = () => {};
  let failed = (_error: Error) => {};
  const outcome = new Promise<void>((resolve, reject) => {
    spoken = resolve;
    failed = reject;
  });
  outcome.catch(() => {}); // The breaker may not ask.
  breaker.attempt(() => outcome);
  let hasSpoken = false;
  return {
    spoken: () => {
      hasSpoken = true;
      spoken();
    },
    closed: (error) => {
      if (!hasSpoken) failed(error ?? new Error('no connection'));
      else if (error !== undefined) breaker.attempt(() => Promise.reject(error));
    },
  };
}

function close({ pool, breaker }: Upstream): void {
  breaker.close();
  pool.close();
}
