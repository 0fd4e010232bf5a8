/**
 * The connections to the cells, by address, and which attempts wait on each.
 *
 * Place: under attempt.ts. A connection that dies ends its streams without an error, so it is the connection's own
 * `close` that fails them, at once.
 *
 * Invariants
 *  1. One pool for each address of the map; pools of addresses that left the map are closed (P11).
 *  2. Every attempt on a connection that ends hears of it exactly once, unless it was released before.
 *  3. A cell that several connections in turn did not reach is not waited for: callers hear so at once, until a
 *     connection that no call waits for has reached it again. A connection counts as made once the cell has spoken on
 *     it, since the kernel of a stopped process accepts connections, too.
 */
import type { ClientHttp2Session, SecureClientSessionOptions } from 'node:http2';
import type { Breaker, MakeBreaker } from '../kernel/breaker.ts';
import type { Clock } from '../kernel/clock.ts';
import { AtollError } from '../kernel/errors.ts';
import { SessionPool } from '../kernel/rpc/session-pool.ts';
import type { FleetMap } from '../fleet/map.ts';

/** Hears that the connection it waits on has ended. */
export interface Waiter {
  connectionLost(): void;
}

export type UpstreamOptions = {
  readonly sessions: number;
  readonly clock: Clock;
  readonly makeBreaker: MakeBreaker;
  readonly onBreaker: (address: string, isOpen: boolean) => void;
  readonly tls?: SecureClientSessionOptions | undefined;
};

type Upstream = { readonly pool: SessionPool; readonly breaker: Breaker };

/** A cell is in the region, or near it: one that takes longer is not there. */
const CONNECT_MS = 2_000;
const PING_EVERY_MS = 2_000;
const PING_MS = 3_000;

export class Upstreams {
  readonly #options: UpstreamOptions;
  readonly #upstreams = new Map<string, Upstream>();
  readonly #waiters = new WeakMap<ClientHttp2Session, Set<Waiter>>();

  constructor(options: UpstreamOptions) {
    this.#options = options;
  }

  /** A connection to that address, perhaps still being made. Throws `unavailable` after `close` or while it is away. */
  session(address: string): ClientHttp2Session {
    const upstream = this.#upstreams.get(address) ?? this.#make(address);
    if (upstream.breaker.isOpen) {
      throw new AtollError('unavailable', `The cell at ${address} does not answer: try again.`);
    }
    return this.#next(upstream);
  }

  /** The attempts that wait on a connection: add yourself, and delete yourself when the answer is there. */
  waitersOn(session: ClientHttp2Session): Set<Waiter> {
    const known = this.#waiters.get(session);
    if (known !== undefined) return known;
    const waiters = new Set<Waiter>();
    this.#waiters.set(session, waiters);
    session.once('close', () => {
      for (const waiter of [...waiters]) waiter.connectionLost();
    });
    return waiters;
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
    const { sessions, clock, tls, makeBreaker, onBreaker } = this.#options;
    const pool = new SessionPool(address, {
      ...{ sessions, clock, tls },
      ...{ connectTimeoutMs: CONNECT_MS, pingEveryMs: PING_EVERY_MS, pingTimeoutMs: PING_MS },
    });
    const breaker = makeBreaker({
      name: address,
      tryAgain: () => void this.#next(upstream),
      onChange: (isOpen) => onBreaker(address, isOpen),
    });
    const upstream = { pool, breaker };
    this.#upstreams.set(address, upstream);
    return upstream;
  }

  /** The session whose turn it is; a new one is an attempt to reach the cell. */
  #next({ pool, breaker }: Upstream): ClientHttp2Session {
    const session = pool.next();
    if (this.#waiters.has(session)) return session;
    this.waitersOn(session);
    breaker.attempt(() => spokenOn(session));
    session.once('remoteSettings', () => {
      // From here on a connection that breaks says as much of its cell as one that cannot be made.
      session.once('error', (error: Error) => breaker.attempt(() => Promise.reject(error)));
    });
    return session;
  }
}

/** Resolves when the other side has sent its settings. */
function spokenOn(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    session.once('remoteSettings', () => resolve());
    session.once('close', () => reject(new Error('no connection')));
  });
}

function close({ pool, breaker }: Upstream): void {
  breaker.close();
  pool.close();
}
