/**
 * Unary gRPC calls to one address.
 * Place: cell to cell, tests, tools. Bodies are bytes: who calls encodes and decodes.
 *
 * Invariants
 *  1. Every call ends: with the answer, the peer's status, its timeout, its signal, or the end of its session; each
 *     failure is an AtollError, those of the connection are `unavailable`.
 *  2. A call that ends before its answer resets its stream, so the peer stops working for it.
 */
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { systemClock, type CancelAlarm, type Clock } from '../clock.ts';
import { AtollError } from '../errors.ts';
import {
  DEFAULT_MAX_MESSAGE_BYTES,
  encodingOf,
  frame,
  FRAME_HEADER_BYTES,
  tooLarge,
  unframe,
} from './frame.ts';
import { SessionPool, type SessionPoolOptions } from './session-pool.ts';
import { errorOf } from './status.ts';
import { formatTimeout } from './timeout.ts';

const CANCEL = 8;

export type CallOptions = { readonly signal?: AbortSignal | undefined; readonly timeoutMs: number };
export type CallResult = { readonly body: Uint8Array; readonly trailers: IncomingHttpHeaders };
export type RpcChannelOptions = SessionPoolOptions & {
  /** The largest answer. Default 8 MiB. */
  readonly maxMessageBytes?: number | undefined;
};

export class RpcChannel {
  readonly #pool: SessionPool;
  readonly #clock: Clock;
  readonly #maxMessageBytes: number;
  /** The calls that fail when their session ends. */
  readonly #open = new WeakMap<ClientHttp2Session, Set<PendingCall>>();

  /** @param address `host:port` */
  constructor(address: string, options: RpcChannelOptions = {}) {
    this.#pool = new SessionPool(address, options);
    this.#clock = options.clock ?? systemClock;
    this.#maxMessageBytes = options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES;
  }

  /**
   * One call.
   * @param path `/package.Service/Method`
   * @throws AtollError with the peer's status; its detail is `rpc-status` with the number and the details' bytes
   */
  call(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
    options: CallOptions,
  ): Promise<CallResult> {
    return new Promise((resolve, reject) => {
      options.signal?.throwIfAborted();
      const session = this.#pool.next();
      const stream = session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-timeout': formatTimeout(options.timeoutMs),
        ...headers,
      });
      const calls = this.#callsOf(session);
      const pending = new PendingCall(stream, {
        maxMessageBytes: this.#maxMessageBytes,
        signal: options.signal,
        onEnd: (outcome) => {
          calls.delete(pending);
          if (outcome instanceof AtollError) reject(outcome);
          else resolve(outcome);
        },
      });
      calls.add(pending);
      pending.armTimeout(this.#clock, options.timeoutMs, path);
      for (const chunk of frame(body)) stream.write(chunk);
      stream.end();
    });
  }

  /** Ends the connections; calls in flight fail as `unavailable`. */
  close(): void {
    this.#pool.close();
  }

  #callsOf(session: ClientHttp2Session): Set<PendingCall> {
    const known = this.#open.get(session);
    if (known !== undefined) return known;
    const calls = new Set<PendingCall>();
    this.#open.set(session, calls);
    session.once('close', () => {
      for (const call of calls) call.fail(connectionLost(this.#pool.address));
    });
    return calls;
  }
}

type PendingOptions = {
  readonly maxMessageBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly onEnd: (outcome: CallResult | AtollError) => void;
};

/** A call whose answer has not come yet. */
class PendingCall {
  readonly #stream: ClientHttp2Stream;
  readonly #options: PendingOptions;
  readonly #chunks: Buffer[] = [];
  #received = 0;
  #headers: IncomingHttpHeaders = {};
  #trailers: IncomingHttpHeaders | undefined;
  #over = false;
  #cancelTimeout: CancelAlarm | undefined;

  constructor(stream: ClientHttp2Stream, options: PendingOptions) {
    this.#stream = stream;
    this.#options = options;
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    stream.on('response', (headers) => (this.#headers = headers));
    stream.on('trailers', (trailers) => (this.#trailers = trailers));
    stream.on('data', (chunk: Buffer) => this.#onData(chunk));
    stream.on('end', () => {
      // The trailers may still be under way; `close` comes after them.
      if ((this.#trailers ?? this.#headers)['grpc-status'] !== undefined) this.#onEnd();
    });
    stream.on('error', (cause) => this.fail(connectionLost('the peer', cause)));
    stream.on('close', () => this.#onEnd());
  }

  armTimeout(clock: Clock, timeoutMs: number, path: string): void {
    this.#cancelTimeout = clock.after(timeoutMs, () => {
      this.fail(
        new AtollError('deadline-exceeded', `${path} did not answer within ${timeoutMs} ms`),
      );
    });
  }

  fail(error: AtollError): void {
    this.#end(error);
  }

  readonly #onAbort = () => {
    const reason: unknown = this.#options.signal?.reason;
    this.fail(
      reason instanceof AtollError
        ? reason
        : new AtollError('cancelled', 'the caller gave up', { cause: reason }),
    );
  };

  #onData(chunk: Buffer): void {
    this.#received += chunk.length;
    const { maxMessageBytes } = this.#options;
    if (this.#received > maxMessageBytes + FRAME_HEADER_BYTES)
      return this.fail(tooLarge(this.#received, maxMessageBytes));
    this.#chunks.push(chunk);
  }

  #onEnd(): void {
    if (this.#over) return;
    const trailers = this.#trailers ?? this.#headers;
    if (trailers['grpc-status'] === undefined) return this.fail(noStatus(this.#headers));
    const error = errorOf(trailers);
    if (error !== undefined) return this.fail(error);
    try {
      const encoding =
        encodingOf(this.#headers['grpc-encoding'] as string | undefined) ?? 'identity';
      this.#end({ body: unframe(this.#chunks, encoding, this.#options.maxMessageBytes), trailers });
    } catch (thrown) {
      this.fail(thrown instanceof AtollError ? thrown : connectionLost('the peer', thrown));
    }
  }

  #end(outcome: CallResult | AtollError): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelTimeout?.();
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    if (!this.#stream.closed && this.#trailers === undefined) this.#stream.close(CANCEL);
    this.#options.onEnd(outcome);
  }
}

function connectionLost(address: string, cause?: unknown): AtollError {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  return new AtollError(
    'unavailable',
    `the connection to ${address} was lost before the answer came${why}`,
    { cause },
  );
}

/** The stream ended without a status: the connection died, or it is not a gRPC server. */
function noStatus(headers: IncomingHttpHeaders): AtollError {
  const status = Number(headers[':status'] ?? 200);
  if (status === 200) return connectionLost('the peer');
  return new AtollError(
    'unavailable',
    `the peer answered HTTP ${status}: it is no gRPC server, or a proxy stands between`,
  );
}
