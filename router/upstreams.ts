/**
 * The connections to the cells, by address, and which attempts wait on each.
 *
 * Place: under attempt.ts. A connection that dies ends its streams without an error, so it is the connection's own
 * `close` that fails them, at once.
 *
 * Invariants
 *  1. One pool for each address of the map; pools of addresses that left the map are closed (P11).
 *  2. Every attempt on a connection that ends hears of it exactly once, unless it was released before.
 */
import type { ClientHttp2Session } from 'node:http2';
import type { Clock } from '../kernel/clock.ts';
import { SessionPool } from '../kernel/rpc/session-pool.ts';
import type { FleetMap } from '../fleet/map.ts';

/** Hears that the connection it waits on has ended. */
export interface Waiter {
  connectionLost(): void;
}

export class Upstreams {
  readonly #options: { readonly sessions: number; readonly clock: Clock };
  readonly #pools = new Map<string, SessionPool>();
  readonly #waiters = new WeakMap<ClientHttp2Session, Set<Waiter>>();

  constructor(options: { readonly sessions: number; readonly clock: Clock }) {
    this.#options = options;
  }

  /** A connection to that address, perhaps still being made. Throws `unavailable` after `close`. */
  session(address: string): ClientHttp2Session {
    let pool = this.#pools.get(address);
    if (pool === undefined) {
      pool = new SessionPool(address, this.#options);
      this.#pools.set(address, pool);
    }
    return pool.next();
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
    for (const [address, pool] of this.#pools) {
      if (addresses.has(address)) continue;
      pool.close();
      this.#pools.delete(address);
    }
  }

  close(): void {
    for (const pool of this.#pools.values()) pool.close();
  }
}
