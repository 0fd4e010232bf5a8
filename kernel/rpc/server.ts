/**
 * A gRPC server for unary calls on `node:http2`: a half of grpc-js's CPU per call, and it never decodes a message.
 * Place: the cell's frontend, and whoever else answers calls; the router has a pass-through of its own.
 *
 * Invariants
 *  1. A call is answered or its client is gone; see server-call.ts.
 *  2. Close ends within its grace: calls that wait are told at once, sessions are destroyed when the grace is over.
 *  3. Streams of a session, bytes of a request and memory of a session are bounded (P11).
 */
import { createSecureServer, createServer, type IncomingHttpHeaders } from 'node:http2';
import type {
  Http2SecureServer,
  Http2Server,
  SecureServerOptions,
  ServerHttp2Session,
  ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { sleep, systemClock, type Clock } from '../clock.ts';
import { AtollError } from '../errors.ts';
import { DEFAULT_MAX_MESSAGE_BYTES } from './frame.ts';
import { ServerCall, type RpcHandler, type ServerCallOptions } from './server-call.ts';

/** Large enough that a 64 KB message needs no round trip for credit. */
export const WINDOW_BYTES = 1024 * 1024;

export type RpcServerOptions = {
  readonly handle: RpcHandler;
  /** Bytes for `grpc-status-details-bin`; none by default. */
  readonly encodeDetails?: ((error: AtollError) => Uint8Array | undefined) | undefined;
  /** The largest request. Default 8 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Calls in flight per connection. Default 10,000: each poller parks one. */
  readonly maxConcurrentStreams?: number | undefined;
  /** TLS when given, otherwise cleartext HTTP/2 with prior knowledge. */
  readonly tls?: SecureServerOptions | undefined;
  readonly clock?: Clock | undefined;
};

export class RpcServer {
  readonly #server: Http2Server | Http2SecureServer;
  readonly #clock: Clock;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #calls = new Set<ServerCall>();
  readonly #callOptions: ServerCallOptions;
  #closing: Promise<void> | undefined;

  constructor(options: RpcServerOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#callOptions = {
      handle: options.handle,
      encodeDetails: options.encodeDetails ?? (() => undefined),
      maxMessageBytes: options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
      clock: this.#clock,
      onClosed: (call) => this.#calls.delete(call),
    };
    const settings = {
      initialWindowSize: WINDOW_BYTES,
      maxConcurrentStreams: options.maxConcurrentStreams ?? 10_000,
    };
    // A router multiplexes the polls of many clients; a failover cancels them all at once.
    const http2 = {
      settings,
      maxSessionMemory: 256,
      streamResetBurst: 20_000,
      streamResetRate: 2_000,
    };
    this.#server =
      options.tls === undefined
        ? createServer(http2)
        : createSecureServer({ ...options.tls, ...http2 });
    this.#server.on('session', (session) => this.#onSession(session));
    this.#server.on('stream', (stream, headers) => this.#onStream(stream, headers));
  }

  /** Calls that were begun and are not over. */
  get callsInFlight(): number {
    return this.#calls.size;
  }

  /**
   * Listens; port 0 takes a free one.
   * @throws AtollError `failed-precondition` when the port is in use or not ours to take
   */
  listen(address: {
    readonly host: string;
    readonly port: number;
  }): Promise<{ host: string; port: number }> {
    return new Promise((resolve, reject) => {
      const onError = (cause: NodeJS.ErrnoException) => reject(cannotListen(address, cause));
      this.#server.once('error', onError);
      this.#server.listen(address.port, address.host, () => {
        this.#server.off('error', onError);
        this.#server.on('error', () => {});
        resolve({ host: address.host, port: (this.#server.address() as AddressInfo).port });
      });
    });
  }

  /** Takes no new calls, aborts the signals of those in flight, and ends within `graceMs` in any case. */
  close(options: { readonly graceMs: number }): Promise<void> {
    this.#closing ??= this.#close(options.graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const call of this.#calls) call.serverCloses();
    for (const session of this.#sessions) session.close();
    const grace = new AbortController();
    const patience = sleep(this.#clock, graceMs, grace.signal).then(() => {
      for (const session of this.#sessions) session.destroy();
    });
    await Promise.race([closed, patience]);
    grace.abort(new Error('closed'));
    await Promise.allSettled([patience]);
    await closed;
  }

  #onSession(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.setLocalWindowSize(WINDOW_BYTES * 4);
    session.on('error', () => session.destroy());
    session.on('close', () => this.#sessions.delete(session));
    if (this.#closing !== undefined) session.close();
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const type = headers['content-type'];
    const isGrpc =
      type === 'application/grpc' ||
      type?.startsWith('application/grpc+') ||
      type?.startsWith('application/grpc;');
    if (headers[':method'] !== 'POST' || !isGrpc) return refuse(stream);
    this.#calls.add(new ServerCall(stream, headers, this.#callOptions));
  }
}

/** Not a gRPC call: the status that the protocol asks for. */
function refuse(stream: ServerHttp2Stream): void {
  stream.on('error', () => {});
  if (stream.destroyed || stream.closed) return;
  stream.respond({ ':status': 415, 'content-type': 'text/plain' });
  stream.end('This port speaks gRPC over HTTP/2.\n');
}

function cannotListen(
  address: { host: string; port: number },
  cause: NodeJS.ErrnoException,
): AtollError {
  const where = `${address.host}:${address.port}`;
  const why =
    cause.code === 'EADDRINUSE'
      ? `${where} is in use by another program; stop it or choose another port`
      : `cannot listen on ${where}: ${cause.message}`;
  return new AtollError('failed-precondition', why, { cause });
}
