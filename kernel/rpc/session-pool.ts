/**
 * A few HTTP/2 connections to one address, used in turn: one session serialises its frames, several cut the tail.
 * Place: under RpcChannel.
 *
 * Invariants
 *  1. At most `sessions` connections; one is made when its turn comes and it is missing or going away.
 *  2. A connection on which the peer has not spoken within its timeout, or does not answer a ping, is destroyed and its
 *     streams end at once: a peer behind a cut link stays silent for minutes, and the kernel of a stopped process
 *     accepts connections all the time.
 *  3. After `close` no connection is made. Until then its connections keep the process alive.
 */
import { connect, type ClientHttp2Session, type SecureClientSessionOptions } from 'node:http2';
import { systemClock, type CancelAlarm, type Clock } from '../clock.ts';
import { AtollError } from '../errors.ts';
import { invariant } from '../invariant.ts';
import { WINDOW_BYTES } from './server.ts';

export type SessionPoolOptions = {
  /** Connections at most. Default 4. */
  readonly sessions?: number | undefined;
  /** TLS when given. */
  readonly tls?: SecureClientSessionOptions | undefined;
  /** Until the peer has spoken HTTP/2. Default 5 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** Time between pings. Default 10 s. */
  readonly pingEveryMs?: number | undefined;
  /** Default 5 s. */
  readonly pingTimeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
};

export class SessionPool {
  /** `host:port`. */
  readonly address: string;
  readonly #options: SessionPoolOptions;
  readonly #clock: Clock;
  readonly #slots: (ClientHttp2Session | undefined)[];
  readonly #live = new Set<ClientHttp2Session>();
  #turn = 0;
  #closed = false;

  constructor(address: string, options: SessionPoolOptions = {}) {
    const sessions = options.sessions ?? 4;
    invariant(Number.isSafeInteger(sessions) && sessions >= 1, `session pool of ${sessions}`);
    this.address = address;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#slots = new Array<ClientHttp2Session | undefined>(sessions).fill(undefined);
  }

  /** Connections that are up or being made. */
  get size(): number {
    return this.#live.size;
  }

  /**
   * The session whose turn it is. It may still be connecting: requests on it wait for that, and fail with it.
   * Listen to its `close`: a session that dies ends its streams without an error.
   * @throws AtollError `unavailable` after `close`
   */
  next(): ClientHttp2Session {
    if (this.#closed)
      throw new AtollError('unavailable', `the connections to ${this.address} are closed`);
    this.#turn = (this.#turn + 1) % this.#slots.length;
    const session = this.#slots[this.#turn];
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    return this.#connect(this.#turn);
  }

  /** Ends all connections; open calls fail. */
  close(): void {
    this.#closed = true;
    for (const session of this.#live) session.destroy();
  }

  #connect(slot: number): ClientHttp2Session {
    const { tls } = this.#options;
    const scheme = tls === undefined ? 'http' : 'https';
    const session = connect(`${scheme}://${this.address}`, {
      ...tls,
      settings: { initialWindowSize: WINDOW_BYTES, enablePush: false },
      maxSessionMemory: 256,
    });
    this.#slots[slot] = session;
    this.#live.add(session);
    const timeoutMs = this.#options.connectTimeoutMs ?? 5_000;
    let cancel: CancelAlarm = this.#clock.after(timeoutMs, () => {
      session.destroy(new Error(`no connection to ${this.address} within ${timeoutMs} ms`));
    });
    session.once('connect', () => {
      // It may have been given up in this very turn of the loop, and then it throws.
      if (!session.destroyed) session.setLocalWindowSize(WINDOW_BYTES * 4);
    });
    // The kernel of a stopped process accepts connections, too: what counts is that the peer has spoken.
    session.once('remoteSettings', () => {
      if (session.destroyed) return;
      cancel();
      cancel = this.#keepAlive(session);
    });
    session.on('error', () => session.destroy());
    session.on('goaway', () => this.#leave(slot, session));
    session.on('close', () => {
      cancel();
      this.#live.delete(session);
      this.#leave(slot, session);
    });
    return session;
  }

  #leave(slot: number, session: ClientHttp2Session): void {
    if (this.#slots[slot] === session) this.#slots[slot] = undefined;
  }

  /** Pings as long as the session lives; silence past the timeout destroys it. */
  #keepAlive(session: ClientHttp2Session): CancelAlarm {
    const { pingEveryMs = 10_000, pingTimeoutMs = 5_000 } = this.#options;
    let cancel: CancelAlarm = () => {};
    const schedule = () => {
      cancel = this.#clock.after(pingEveryMs, () => {
        if (session.destroyed) return; // Its `close` is under way.
        cancel = this.#clock.after(pingTimeoutMs, () => {
          session.destroy(
            new Error(`${this.address} has not answered a ping within ${pingTimeoutMs} ms`),
          );
        });
        session.ping(() => {
          cancel();
          if (!session.destroyed) schedule();
        });
      });
    };
    schedule();
    return () => cancel();
  }
}
