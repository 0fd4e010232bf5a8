/**
 * One unary call on the server's side: gathers the request, runs the handler, answers once.
 * Place: made by RpcServer for every stream of POST and `application/grpc`.
 *
 * Invariants
 *  1. It answers at most once, and never throws out: a stream that is gone is left alone (`respond` on one throws).
 *  2. Its signal aborts when the client is gone, at the deadline, and when the server closes; after the first of
 *     these the handler's result is dropped, except that at a close of the server a result still goes out.
 *  3. It holds at most `maxMessageBytes` of request.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
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
import { peerOf } from './peer.ts';
import { statusHeaders } from './status.ts';
import { parseTimeout } from './timeout.ts';

const GRPC = 'application/grpc';

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
  /** The call's stream is closed: nothing follows. */
  readonly onClosed: (call: ServerCall) => void;
};

export class ServerCall implements RpcCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly deadlineMs: number | undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #options: ServerCallOptions;
  readonly #encoding: Encoding;
  #body: Uint8Array = new Uint8Array(0);
  #chunks: Buffer[] = [];
  #received = 0;
  #done = false;
  #abort: AbortSource | undefined;
  #abortReason: AtollError | undefined;
  #cancelDeadline: CancelAlarm | undefined;

  /** Begins to read the request; the handler runs when it is whole. */
  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, options: ServerCallOptions) {
    this.#stream = stream;
    this.#options = options;
    this.headers = headers;
    this.path = String(headers[':path']);
    this.deadlineMs = parseTimeout(headers['grpc-timeout'] as string | undefined);
    const encoding = encodingOf(headers['grpc-encoding'] as string | undefined);
    this.#encoding = encoding ?? 'identity';
    stream.on('error', () => this.#cancel());
    stream.on('close', () => {
      this.#cancel();
      options.onClosed(this);
    });
    if (encoding === undefined) {
      this.#fail(unknownEncoding(String(headers['grpc-encoding'])));
      return;
    }
    if (this.deadlineMs !== undefined) this.#armDeadline(this.deadlineMs);
    stream.on('data', (chunk: Buffer) => this.#onData(chunk));
    stream.on('end', () => void this.#run());
  }

  get body(): Uint8Array {
    return this.#body;
  }

  get peer(): string | undefined {
    return peerOf(this.#stream.session);
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortSource();
      if (this.#abortReason !== undefined) this.#abort.abort(this.#abortReason);
    }
    return this.#abort;
  }

  /** Tells the handler that the server closes; what it still answers goes out. */
  serverCloses(): void {
    this.#raise(
      new AtollError(
        'unavailable',
        'this server is shutting down; call again to reach another one',
      ),
    );
  }

  #onData(chunk: Buffer): void {
    if (this.#done) return;
    this.#received += chunk.length;
    const limit = this.#options.maxMessageBytes;
    if (this.#received > limit + FRAME_HEADER_BYTES) {
      this.#chunks = [];
      return this.#fail(tooLarge(this.#received - FRAME_HEADER_BYTES, limit));
    }
    this.#chunks.push(chunk);
  }

  async #run(): Promise<void> {
    if (this.#done) return;
    try {
      this.#body = unframe(this.#chunks, this.#encoding, this.#options.maxMessageBytes);
      this.#chunks = [];
      const reply = await this.#options.handle(this);
      this.#succeed(reply);
    } catch (thrown) {
      this.#fail(toAtollError(thrown));
    }
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

  /** The client is gone: nobody to answer. */
  #cancel(): void {
    if (this.#done) return;
    this.#raise(new AtollError('cancelled', 'the client is gone'));
    this.#finish();
  }

  #finish(): void {
    this.#done = true;
    this.#chunks = [];
    this.#cancelDeadline?.();
    this.#cancelDeadline = undefined;
  }

  #succeed(reply: RpcReply): void {
    if (!this.#mayAnswer()) return;
    const stream = this.#stream;
    stream.on('wantTrailers', () => {
      if (!stream.destroyed) stream.sendTrailers({ 'grpc-status': '0' });
    });
    this.#guard(() => {
      stream.respond({ ':status': 200, 'content-type': GRPC }, { waitForTrailers: true });
      const chunks = frame(reply);
      const last = chunks.length - 1;
      if (last > 0) stream.cork();
      for (let i = 0; i < last; i++) stream.write(chunks[i]);
      stream.end(chunks[last]);
      if (last > 0) stream.uncork();
    });
  }

  #fail(error: AtollError): void {
    if (!this.#mayAnswer()) return;
    this.#guard(() => {
      const status = statusHeaders(error, this.#options.encodeDetails(error));
      this.#stream.respond(
        { ':status': 200, 'content-type': GRPC, ...status, ...acceptHeader(error) },
        { endStream: true },
      );
      // The rest of a request that we refuse early is not read: tell the client to stop sending.
      if (!this.#stream.readableEnded) this.#stream.close(0);
    });
  }

  #mayAnswer(): boolean {
    if (this.#done) return false;
    this.#finish();
    return !this.#stream.destroyed && !this.#stream.closed && !this.#stream.headersSent;
  }

  /** A stream can be lost between the check and the call; that is the client's going, not an error of ours. */
  #guard(answer: () => void): void {
    try {
      answer();
    } catch {
      this.#stream.destroy();
    }
  }
}

function unknownEncoding(name: string): AtollError {
  return new AtollError(
    'unimplemented',
    `grpc-encoding ${name} is not supported; use identity or gzip`,
  );
}

function acceptHeader(error: AtollError): Readonly<Record<string, string>> {
  return error.code === 'unimplemented' ? { 'grpc-accept-encoding': 'identity,gzip' } : {};
}
