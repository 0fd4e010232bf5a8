/**
 * The calling end of a link: many unary calls at a time over one socket, for processes of ours that call each other so
 * often that HTTP/2 would cost more than the work (a stream of `node:http2` costs each side some 100 µs; a frame 10).
 *
 * Place: between router and cell. rpc/server.ts answers links on the port on which it speaks gRPC.
 *
 * Invariants
 *  1. Each call ends exactly once: answered, lost with the link, or cancelled by who called, who hears nothing then.
 *  2. A link on which the other side has not spoken in time, or that does not answer a ping, is closed: a host behind a
 *     cut cable stays silent for minutes, and the kernel of a stopped process accepts connections all the time.
 *  3. At most `MAX_QUEUED_BYTES` wait for the other side to read (P11): beyond, calls are refused.
 */
import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { CancelAlarm, Clock } from '../clock.ts';
import { AtollError } from '../errors.ts';
import { decodeHead, encodeFrame, FRAME, type Frame } from './frames.ts';
import { LinkSocket, type LinkUser } from './link-socket.ts';

/** The name of this protocol where TLS is asked for one (ALPN). */
export const LINK_ALPN = 'atoll-link/1';
/** Requests that the other side has not read. */
export const MAX_QUEUED_BYTES = 64 * 1024 * 1024;

/** Who waits for the answer of one call. */
export interface LinkWaiter {
  /** `trailers` are those of gRPC; none means status 0. `body` is a message with its frame, or empty. */
  answered(trailers: Readonly<Record<string, string>>, body: Buffer): void;
  /** The link ended first: the call may have been served or not. */
  lost(): void;
}

export type LinkOptions = {
  readonly clock: Clock;
  /** TLS when given. */
  readonly tls?: ConnectionOptions | undefined;
  /** Until the other side has spoken. */
  readonly connectTimeoutMs: number;
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
  /** The other side has spoken. */
  readonly onSpoken: () => void;
  /** No new calls may be made on it: the other side shuts down. */
  readonly onLeaving: () => void;
  /** It is gone. Its calls have been told. */
  readonly onClosed: (error: Error | undefined) => void;
};

const OK: Readonly<Record<string, string>> = { 'grpc-status': '0' };
const MAX_CALL = 0xffff_ffff;

export class Link implements LinkUser {
  readonly #address: string;
  readonly #options: LinkOptions;
  readonly #socket: LinkSocket;
  readonly #waiters = new Map<number, LinkWaiter>();
  #lastCall = 0;
  #closed = false;
  #cancelAlarm: CancelAlarm;

  /** Connects. @param address `host:port` */
  constructor(address: string, options: LinkOptions) {
    this.#address = address;
    this.#options = options;
    this.#socket = new LinkSocket(socketTo(address, options.tls), this);
    const { connectTimeoutMs: timeoutMs } = options;
    this.#cancelAlarm = options.clock.after(timeoutMs, () => {
      this.close(new Error(`no connection to ${address} within ${timeoutMs} ms`));
    });
  }

  get queuedBytes(): number {
    return this.#socket.queuedBytes;
  }

  /** Calls without an answer. */
  get callsInFlight(): number {
    return this.#waiters.size;
  }

  /**
   * One call.
   * @param head the path and the headers (`encodeHead`)
   * @param body the message in its gRPC frame
   * @returns its number, for `cancel`
   * @throws AtollError `unavailable` when the link is closed or the other side does not read
   */
  call(head: string, body: readonly Uint8Array[], waiter: LinkWaiter): number {
    if (this.#closed)
      throw new AtollError('unavailable', `the connection to ${this.#address} is closed`);
    if (this.queuedBytes > MAX_QUEUED_BYTES)
      throw new AtollError('unavailable', `${this.#address} does not read what it is sent`);
    const call = this.#nextCall();
    this.#waiters.set(call, waiter);
    this.#socket.send(encodeFrame(FRAME.call, call, head, body));
    return call;
  }

  /** The answer is not wanted any more; nothing is heard of the call. */
  cancel(call: number): void {
    if (this.#waiters.delete(call)) this.#socket.send(encodeFrame(FRAME.cancel, call));
  }

  /** Ends it; calls in flight are lost. */
  close(error?: Error): void {
    this.#socket.destroy(error);
  }

  greeted(): void {
    this.#cancelAlarm();
    this.#schedulePing();
    this.#options.onSpoken();
  }

  frame({ kind, call, head, body }: Frame): void {
    if (kind === FRAME.reply) {
      const waiter = this.#waiters.get(call);
      if (waiter === undefined) return;
      this.#waiters.delete(call);
      waiter.answered(head === '' ? OK : decodeHead(head.split('\n')), body);
    } else if (kind === FRAME.pong) {
      this.#cancelAlarm();
      this.#schedulePing();
    } else if (kind === FRAME.goAway) {
      this.#options.onLeaving();
    }
  }

  closed(error: Error | undefined): void {
    this.#closed = true;
    this.#cancelAlarm();
    const waiters = [...this.#waiters.values()];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.lost();
    this.#options.onClosed(error);
  }

  /** The next number that no call has. */
  #nextCall(): number {
    do this.#lastCall = this.#lastCall === MAX_CALL ? 1 : this.#lastCall + 1;
    while (this.#waiters.has(this.#lastCall));
    return this.#lastCall;
  }

  #schedulePing(): void {
    const { clock, pingEveryMs, pingTimeoutMs } = this.#options;
    if (this.#closed) return;
    this.#cancelAlarm = clock.after(pingEveryMs, () => {
      this.#cancelAlarm = clock.after(pingTimeoutMs, () => {
        this.close(
          new Error(`${this.#address} has not answered a ping within ${pingTimeoutMs} ms`),
        );
      });
      this.#socket.send(encodeFrame(FRAME.ping, 0));
    });
  }
}

function socketTo(address: string, tls: ConnectionOptions | undefined) {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  const port = Number(address.slice(colon + 1));
  if (tls === undefined) return connectTcp({ host, port });
  const servername = isIP(host) === 0 ? host : '';
  const socket: TLSSocket = connectTls({
    ...{ host, port, servername, ...tls },
    ALPNProtocols: [LINK_ALPN],
  });
  socket.once('secureConnect', () => {
    if (socket.alpnProtocol === LINK_ALPN) return;
    socket.destroy(new Error(`${address} speaks TLS, but not ${LINK_ALPN}`));
  });
  return socket;
}
