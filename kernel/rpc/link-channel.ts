/**
 * Unary calls to one process of ours over links, as client.ts makes them over HTTP/2: a tenth of the cost a call.
 * Place: cell to cell, admin to cell (replication/rpc). Bodies are bytes: who calls encodes and decodes.
 *
 * Invariants
 *  1. Every call ends: with the answer, the peer's status, its timeout, its signal, or the end of its link; each failure is
 *     an AtollError, those of the connection are `unavailable`.
 *  2. The peer is told of a call that ends before its answer, so that it stops working for it.
 *  3. Nothing is connected before the first call.
 */
import type { ConnectionOptions } from 'node:tls';
import type { Clock } from '../clock.ts';
import { AtollError } from '../errors.ts';
import { encodeHead } from '../link/frames.ts';
import { LinkPool } from '../link/link-pool.ts';
import type { LinkWaiter } from '../link/link.ts';
import { abortError, type CallOptions } from './client.ts';
import { DEFAULT_MAX_MESSAGE_BYTES, frame, unframe } from './frame.ts';
import { errorOf } from './status.ts';
import { formatTimeout } from './timeout.ts';

export type LinkChannelOptions = {
  readonly clock: Clock;
  readonly links: number;
  readonly tls?: ConnectionOptions | undefined;
};

const CONNECT_MS = 5_000;
const PING_EVERY_MS = 5_000;
const PING_MS = 5_000;

export class LinkChannel {
  readonly #pool: LinkPool;
  readonly #clock: Clock;

  /** @param address `host:port` */
  constructor(address: string, options: LinkChannelOptions) {
    this.#clock = options.clock;
    this.#pool = new LinkPool(address, {
      ...options,
      connectTimeoutMs: CONNECT_MS,
      pingEveryMs: PING_EVERY_MS,
      pingTimeoutMs: PING_MS,
      watch: () => ({ spoken() {}, closed() {} }),
    });
  }

  /**
   * One call.
   * @param path `/package.Service/Method`
   * @throws AtollError with the peer's status
   */
  async call(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
    options: CallOptions,
  ): Promise<Uint8Array> {
    const { signal, timeoutMs } = options;
    if (signal?.aborted === true) throw abortError(signal);
    const head = encodeHead({ 'grpc-timeout': formatTimeout(timeoutMs), ...headers }, path);
    const link = this.#pool.next();
    const answer = new Answer(this.#pool.address);
    const number = link.call(head, frame(body), answer);
    const giveUp = (error: AtollError) => {
      if (answer.fail(error)) link.cancel(number);
    };
    const cancelTimeout = this.#clock.after(timeoutMs, () =>
      giveUp(new AtollError('deadline-exceeded', `${path} did not answer within ${timeoutMs} ms`)),
    );
    const onAbort = () => signal && giveUp(abortError(signal));
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await answer.message;
    } finally {
      cancelTimeout();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the connections; calls in flight fail as `unavailable`. */
  close(): void {
    this.#pool.close();
  }
}

/** What a call comes to, once. */
class Answer implements LinkWaiter {
  readonly message: Promise<Uint8Array>;
  readonly #address: string;
  #resolve: (message: Uint8Array) => void = () => {};
  #reject: (error: AtollError) => void = () => {};
  #over = false;

  constructor(address: string) {
    this.#address = address;
    this.message = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  answered(trailers: Readonly<Record<string, string>>, body: Buffer): void {
    const error = errorOf(trailers);
    if (error !== undefined) return void this.fail(error);
    try {
      this.#resolve(unframe([body], 'identity', DEFAULT_MAX_MESSAGE_BYTES));
      this.#over = true;
    } catch (cause) {
      this.fail(new AtollError('unavailable', `${this.#address} sent no message`, { cause }));
    }
  }

  lost(): void {
    const message = `the connection to ${this.#address} was lost before the answer came`;
    this.fail(new AtollError('unavailable', message));
  }

  /** False if it is over already. */
  fail(error: AtollError): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#reject(error);
    return true;
  }
}
