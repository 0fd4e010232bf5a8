/**
 * A gRPC server for unary calls on `node:http2`: a half of grpc-js's CPU per call, and it never decodes a message. The
 * same port takes links (kernel/link), on which processes of ours call for a tenth of that.
 * Place: the cell's frontend, and whoever else answers calls; the router has a pass-through of its own.
 *
 * Invariants
 *  1. A call is answered or its client is gone; see server-call.ts.
 *  2. Close ends within its grace: calls that wait are told at once, sessions are destroyed when the grace is over.
 *  3. Streams of a session, bytes of a request and memory of a session are bounded (P11).
 */
import { createServer as createHttp2, type IncomingHttpHeaders } from 'node:http2';
import type {
  Http2Server,
  SecureServerOptions,
  ServerHttp2Session,
  ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { sleep, systemClock, type Clock } from '../clock.ts';
import { AtollError } from '../errors.ts';
import { LinkServer } from '../link/link-server.ts';
import { DEFAULT_MAX_MESSAGE_BYTES } from './frame.ts';
import { listener, type Listener } from './listener.ts';
import { peerOfSocket } from './peer.ts';
import type { RpcHandler, ServerCall, ServerCallOptions } from './server-call.ts';
import { serveStream } from './stream-wire.ts';

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

const DEFAULT_MAX_CALLS = 10_000;

export class RpcServer {
  readonly #listener: Listener;
  /** Takes the connections that speak HTTP/2; it does not listen itself. */
  readonly #http2: Http2Server;
  readonly #clock: Clock;
  readonly #maxCalls: number;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #links = new Set<LinkServer>();
  readonly #calls = new Set<ServerCall>();
  readonly #callOptions: ServerCallOptions;
  #closing: Promise<void> | undefined;

  constructor(options: RpcServerOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#maxCalls = options.maxConcurrentStreams ?? DEFAULT_MAX_CALLS;
    this.#callOptions = {
      handle: options.handle,
      encodeDetails: options.encodeDetails ?? (() => undefined),
      maxMessageBytes: options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
      clock: this.#clock,
    };
    // Clients multiplex the polls of many workers; a failover cancels them all at once.
    const resets = { streamResetBurst: 20_000, streamResetRate: 2_000 };
    this.#http2 = createHttp2({
      settings: { initialWindowSize: WINDOW_BYTES, maxConcurrentStreams: this.#maxCalls },
      ...{ maxSessionMemory: 256, ...resets },
    });
    this.#http2.on('session', (session) => this.#onSession(session));
    this.#http2.on('stream', (stream, headers) => this.#onStream(stream, headers));
    this.#listener = listener({
      clock: this.#clock,
      tls: options.tls,
      onHttp2: (socket) => this.#http2.emit('connection', socket),
      onLink: (socket, first) => this.#onLink(socket, first),
    });
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
    const { server } = this.#listener;
    return new Promise((resolve, reject) => {
      const onError = (cause: NodeJS.ErrnoException) => reject(cannotListen(address, cause));
      server.once('error', onError);
      server.listen(address.port, address.host, () => {
        server.off('error', onError);
        server.on('error', () => {});
        resolve({ host: address.host, port: (server.address() as AddressInfo).port });
      });
    });
  }

  /** Takes no new calls, aborts the signals of those in flight, and ends within `graceMs` in any case. */
  close(options: { readonly graceMs: number }): Promise<void> {
    this.#closing ??= this.#close(options.graceMs);
    return this.#closing;
  }

  async #close(graceMs: number): Promise<void> {
    const closed = this.#listener.close();
    for (const call of this.#calls) call.serverCloses();
    for (const session of this.#sessions) session.close();
    for (const link of this.#links) link.leave();
    const grace = new AbortController();
    const patience = sleep(this.#clock, graceMs, grace.signal).then(() => {
      for (const session of this.#sessions) session.destroy();
      for (const link of this.#links) link.destroy();
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
    const onClosed = (call: ServerCall) => this.#calls.delete(call);
    this.#calls.add(serveStream(stream, headers, { ...this.#callOptions, onClosed }));
  }

  #onLink(socket: Socket, first: Buffer): void {
    const link: LinkServer = new LinkServer(socket, first, {
      ...this.#callOptions,
      maxCalls: this.#maxCalls,
      peer: peerOfSocket(socket),
      onCall: (call) => this.#calls.add(call),
      onCallClosed: (call) => this.#calls.delete(call),
      onClosed: () => this.#links.delete(link),
    });
    this.#links.add(link);
    if (this.#closing !== undefined) link.leave();
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
