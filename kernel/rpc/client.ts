/**
 * Unary gRPC calls to one address.
 * Place: the command line, `doctor`, tests; cells call each other over links (link-channel.ts). Bodies are bytes: who
 * calls encodes and decodes.
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
    const { signal, timeoutMs } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(abortError(signal));
      const session = this.#pool.next();
      const calls = this.#callsOf(session);
      const pending = new PendingCall(this.#request(session, path, { headers, timeoutMs }), {
        address: this.#pool.address,
        session,
        maxMessageBytes: this.#maxMessageBytes,
        signal,
        onEnd: (outcome) => {
          calls.delete(pending);
          if (outcome instanceof AtollError) reject(outcome);
          else resolve(outcome);
        },
      });
      calls.add(pending);
      pending.armTimeout(this.#clock, timeoutMs, path);
      pending.send(body);
    });
  }

  /** Ends the connections; calls in flight fail as `unavailable`. */
  close(): void {
    this.#pool.close();
  }

  #request(
    session: ClientHttp2Session,
    path: string,
    call: { readonly headers: Readonly<Record<string, string>>; readonly timeoutMs: number },
  ): ClientHttp2Stream {
    try {
      return session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-timeout': formatTimeout(call.timeoutMs),
        ...call.headers,
      });
    } catch (cause) {
      throw connectionLost(this.#pool.address, cause);
    }
  }

  #callsOf(session: ClientHttp2Session): Set<PendingCall> {
    const known = this.#open.get(session);
    if (known !== undefined) return known;
    const calls = new Set<PendingCall>();
    this.#open.set(session, calls);
    const failAll = (cause?: unknown) => {
      for (const call of calls) call.fail(connectionLost(this.#pool.address, cause));
    };
    session.once('error', failAll);
    session.once('close', () => failAll());
    return calls;
  }
}

type PendingOptions = {
  readonly address: string;
  readonly session: ClientHttp2Session;
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
    stream.on('response', (headers) => {
      this.#headers = headers;
    });
    stream.on('trailers', (trailers: IncomingHttpHeaders) => {
      this.#trailers = trailers;
    });
    stream.on('data', (chunk: Buffer) => this.#onData(chunk));
    stream.on('end', () => {
      // The trailers may still be under way; `close` comes after them.
      if (this.#hasStatus()) this.#onEnd();
    });
    stream.on('error', (cause) => this.#onLost(cause));
    stream.on('close', () => (this.#hasStatus() ? this.#onEnd() : this.#onLost()));
  }

  send(body: Uint8Array): void {
    for (const chunk of frame(body)) this.#stream.write(chunk);
    this.#stream.end();
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
    if (this.#options.signal !== undefined) this.fail(abortError(this.#options.signal));
  };

  #hasStatus(): boolean {
    return (this.#trailers ?? this.#headers)['grpc-status'] !== undefined;
  }

  /** The stream ended without a status. Where its session died, the session's own event tells why, at once. */
  #onLost(cause?: Error): void {
    if (this.#options.session.destroyed) return;
    this.fail(noStatus(this.#options.address, this.#headers, cause));
  }

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
    const error = errorOf(trailers);
    if (error !== undefined) return this.fail(error);
    try {
      const encoding =
        encodingOf(this.#headers['grpc-encoding'] as string | undefined) ?? 'identity';
      this.#end({ body: unframe(this.#chunks, encoding, this.#options.maxMessageBytes), trailers });
    } catch (thrown) {
      this.fail(
        thrown instanceof AtollError ? thrown : connectionLost(this.#options.address, thrown),
      );
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

/** What a call comes to whose caller aborted it. */
export function abortError(signal: AbortSignal): AtollError {
  const reason: unknown = signal.reason;
  if (reason instanceof AtollError) return reason;
  return new AtollError('cancelled', 'the caller gave up', { cause: reason });
}

function connectionLost(address: string, cause?: unknown): AtollError {
  const why = cause instanceof Error ? `: ${cause.message}` : ' before the answer came';
  return new AtollError('unavailable', `the connection to ${address} was lost${why}`, { cause });
}

/** The stream ended without a status: the connection died, or it is not a gRPC server. */
function noStatus(address: string, headers: IncomingHttpHeaders, cause?: Error): AtollError {
  const status = Number(headers[':status'] ?? 200);
  if (status === 200) return connectionLost(address, cause);
  return new AtollError(
    'unavailable',
    `${address} answered HTTP ${status}: it is no gRPC server, or a proxy stands between`,
  );
}
