/**
 * One unary call on the server's side: gathers the request, runs the handler, answers once.
 * Place: made by whatever carries calls, an HTTP/2 stream (stream-wire.ts) or a link (link/link-server.ts).
 *
 * Invariants
 *  1. It answers at most once, and nobody once the client is gone.
 *  2. Its signal aborts when the client is gone, at the deadline, and when the server closes; after the first of
 *     these the handler's result is dropped, except that at a close of the server a result still goes out.
 *  3. It holds at most `maxMessageBytes` of request.
 */
import type { IncomingHttpHeaders } from 'node:http2';
import { AbortSource } from '../abort.ts';
import type { CancelAlarm, Clock } from '../clock.ts';
import { AtollError, toAtollError } from '../errors.ts';
import {
  encodingOf,
  frame,
  FRAME_HEADER_BYTES,
  tooLarge,
  unframe,
  type Encoding,
} from './frame.ts';
import { statusHeaders, type StatusHeaders } from './status.ts';
import { parseTimeout } from './timeout.ts';

/** What a handler gets. */
export interface RpcCall {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The request message, without frame and compression. The handler may keep it. */
  readonly body: Uint8Array;
  /** What the client allowed, from when the call came; undefined = no limit. */
  readonly deadlineMs: number | undefined;
  /** The verified certificate name of the other end; undefined without mTLS. */
  readonly peer?: string | undefined;
  /** Aborts with an AtollError: `cancelled` (client gone), `deadline-exceeded`, `unavailable` (server closing). */
  readonly signal: AbortSignal;
}

/** The answer: a message, or chunks that make one, sent without joining them first. */
export type RpcReply = Uint8Array | readonly Uint8Array[];
export type RpcHandler = (call: RpcCall) => Promise<RpcReply>;

export type ServerCallOptions = {
  readonly handle: RpcHandler;
  readonly encodeDetails: (error: AtollError) => Uint8Array | undefined;
  readonly maxMessageBytes: number;
  readonly clock: Clock;
};

/** What carries a call: it brings the request by `received`, and takes one answer. */
export interface CallWire {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The verified certificate name of the other end; undefined without mTLS. */
  readonly peer: string | undefined;
  /** A message in its frame, with status 0. */
  answer(chunks: readonly Uint8Array[]): void;
  /** A status without a message. The rest of the request, if it is still coming, is of no use any more. */
  refuse(status: StatusHeaders): void;
}

export class ServerCall implements RpcCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly deadlineMs: number | undefined;
  readonly #wire: CallWire;
  readonly #options: ServerCallOptions;
  readonly #encoding: Encoding | undefined;
  #body: Uint8Array = new Uint8Array(0);
  #chunks: Buffer[] = [];
  #received = 0;
  #done = false;
  #abort: AbortSource | undefined;
  #abortReason: AtollError | undefined;
  #cancelDeadline: CancelAlarm | undefined;

  /** Its time runs from here on; the handler runs when the request is whole. */
  constructor(wire: CallWire, options: ServerCallOptions) {
    this.#wire = wire;
    this.#options = options;
    this.headers = wire.headers;
    this.path = wire.path;
    this.deadlineMs = parseTimeout(this.headers['grpc-timeout'] as string | undefined);
    this.#encoding = encodingOf(this.headers['grpc-encoding'] as string | undefined);
    if (this.deadlineMs !== undefined) this.#armDeadline(this.deadlineMs);
  }

  get body(): Uint8Array {
    return this.#body;
  }

  get peer(): string | undefined {
    return this.#wire.peer;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortSource();
      if (this.#abortReason !== undefined) this.#abort.abort(this.#abortReason);
    }
    return this.#abort;
  }

  /** More of the request. */
  received(chunk: Buffer): void {
    if (this.#done) return;
    this.#received += chunk.length;
    const limit = this.#options.maxMessageBytes;
    if (this.#received > limit + FRAME_HEADER_BYTES) {
      this.#chunks = [];
      return this.#fail(tooLarge(this.#received - FRAME_HEADER_BYTES, limit));
    }
    this.#chunks.push(chunk);
  }

  /** The request is whole: runs the handler. */
  async run(): Promise<void> {
    if (this.#done) return;
    const { handle, maxMessageBytes } = this.#options;
    try {
      if (this.#encoding === undefined) throw unknownEncoding(this.headers['grpc-encoding']);
      this.#body = unframe(this.#chunks, this.#encoding, maxMessageBytes);
      this.#chunks = [];
      const reply = await handle(this);
      if (this.#mayAnswer()) this.#wire.answer(frame(reply));
    } catch (thrown) {
      this.#fail(toAtollError(thrown));
    }
  }

  /** Tells the handler that the server closes; what it still answers goes out. */
  serverCloses(): void {
    this.#raise(serverClosing());
  }

  /** The client is gone: nobody to answer. */
  clientGone(): void {
    if (this.#done) return;
    this.#raise(new AtollError('cancelled', 'the client is gone'));
    this.#finish();
  }

  #armDeadline(timeoutMs: number): void {
    this.#cancelDeadline = this.#options.clock.after(timeoutMs, () => {
      if (this.#done) return;
      const error = new AtollError(
        'deadline-exceeded',
        `${this.path} took longer than the ${timeoutMs} ms allowed`,
      );
      this.#raise(error);
      this.#fail(error);
    });
  }

  #raise(reason: AtollError): void {
    if (this.#done || this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    this.#abort?.abort(reason);
  }

  #fail(error: AtollError): void {
    if (!this.#mayAnswer()) return;
    const status = statusHeaders(error, this.#options.encodeDetails(error));
    this.#wire.refuse({ ...status, ...acceptHeader(error) });
  }

  /** True once, and not after the client has gone. */
  #mayAnswer(): boolean {
    if (this.#done) return false;
    this.#finish();
    return true;
  }

  #finish(): void {
    this.#done = true;
    this.#chunks = [];
    this.#cancelDeadline?.();
    this.#cancelDeadline = undefined;
  }
}

/** What callers are told while a server shuts down. */
export function serverClosing(): AtollError {
  return new AtollError(
    'unavailable',
    'this server is shutting down; call again to reach another one',
  );
}

function unknownEncoding(name: unknown): AtollError {
  return new AtollError(
    'unimplemented',
    `grpc-encoding ${String(name)} is not supported; use identity or gzip`,
  );
}

function acceptHeader(error: AtollError): Readonly<Record<string, string>> {
  return error.code === 'unimplemented' ? { 'grpc-accept-encoding': 'identity,gzip' } : {};
}
