/**
 * Unary gRPC over node:http2 with nothing but what a load tool needs: no interceptors, no compression, no objects per
 * header. The less the client costs, the more of a shared machine is left for the server that is measured.
 *
 * Place: under the thin worker and the load generator.
 *
 * Invariants
 *  1. Every call ends: with the answer, the peer's status, its timeout, or the end of its connection.
 *  2. A connection that ended is made again by the next call that is its turn.
 */
import http2, { type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';

/** The gRPC status codes that a load tool tells apart. */
export const STATUS = {
  cancelled: 1,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  resourceExhausted: 8,
  unavailable: 14,
} as const;

const FRAME_HEADER_BYTES = 5;
const STREAM_WINDOW_BYTES = 1 << 20;
const SESSION_WINDOW_BYTES = 1 << 24;
/** What a call gives its peer to answer with "deadline exceeded" itself. */
const GRACE_MS = 1_000;
const NOTHING = Buffer.alloc(0);

/** A call that did not end with an answer. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(`gRPC status ${code}: ${message}`);
    this.code = code;
  }
}

export type ChannelOptions = {
  /** HTTP/2 connections, used in turn. */
  readonly sessions: number;
  readonly headers?: Readonly<Record<string, string>>;
};

type Fail = (code: number, message: string) => void;
type Session = { readonly http2: ClientHttp2Session; readonly inFlight: Set<Fail> };

/** Puts the gRPC frame header before an encoded message. */
export function framed(message: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(FRAME_HEADER_BYTES + message.length);
  out[0] = 0;
  out.writeUInt32BE(message.length, 1);
  out.set(message, FRAME_HEADER_BYTES);
  return out;
}

export class Channel {
  readonly #authority: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #slots: (Session | undefined)[];
  #turn = 0;
  #closed = false;

  /** @param address `host:port`; cleartext */
  constructor(address: string, { sessions, headers = {} }: ChannelOptions) {
    this.#authority = `http://${address}`;
    this.#headers = headers;
    this.#slots = Array.from({ length: sessions }, () => undefined);
  }

  /**
   * One call; resolves with the answer's message.
   * @param request as `framed` made it
   * @throws CallError
   */
  call(path: string, request: Buffer, timeoutMs: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const failNow: Fail = (code, message) => reject(new CallError(code, message));
      if (this.#closed) return failNow(STATUS.cancelled, 'the channel is closed');
      let session: Session;
      let stream: http2.ClientHttp2Stream;
      try {
        session = this.#next();
        stream = session.http2.request({
          ':method': 'POST',
          ':path': path,
          'content-type': 'application/grpc',
          te: 'trailers',
          'grpc-timeout': `${timeoutMs}m`,
          ...this.#headers,
        });
      } catch (error) {
        return failNow(STATUS.unavailable, messageOf(error));
      }
      const settle = (act: () => void) => {
        if (!session.inFlight.delete(fail)) return;
        clearTimeout(timer);
        act();
      };
      const fail: Fail = (code, message) => settle(() => failNow(code, message));
      const timer = setTimeout(() => {
        fail(STATUS.deadlineExceeded, 'no answer in time');
        stream.close(http2.constants.NGHTTP2_CANCEL);
      }, timeoutMs + GRACE_MS);
      session.inFlight.add(fail);
      readAnswer(stream, fail, (message) => settle(() => resolve(message)));
      stream.end(request);
    });
  }

  /** Ends the connections. */
  close(): void {
    this.#closed = true;
    for (const slot of this.#slots) slot?.http2.destroy();
  }

  #next(): Session {
    const slot = this.#turn++ % this.#slots.length;
    const known = this.#slots[slot];
    if (known !== undefined && !known.http2.closed && !known.http2.destroyed) return known;
    const settings = { initialWindowSize: STREAM_WINDOW_BYTES, enablePush: false };
    const session: Session = {
      http2: http2.connect(this.#authority, { settings }),
      inFlight: new Set(),
    };
    this.#slots[slot] = session;
    const drop = () => {
      if (this.#slots[slot] === session) this.#slots[slot] = undefined;
    };
    session.http2.on('connect', () => session.http2.setLocalWindowSize(SESSION_WINDOW_BYTES));
    session.http2.on('error', drop);
    session.http2.on('goaway', drop);
    session.http2.on('close', () => {
      drop();
      for (const fail of session.inFlight) fail(STATUS.unavailable, 'the connection was lost');
    });
    return session;
  }
}

/** Collects the message and the status, which may come as headers or as trailers. */
function readAnswer(
  stream: http2.ClientHttp2Stream,
  fail: Fail,
  done: (message: Buffer) => void,
): void {
  let status: number | undefined;
  let reason = '';
  const chunks: Buffer[] = [];
  const note = (headers: IncomingHttpHeaders) => {
    const code = headers['grpc-status'];
    if (code === undefined) return;
    status = Number(code);
    reason = String(headers['grpc-message'] ?? '');
  };
  const finish = () => {
    if (status === undefined)
      return fail(STATUS.unavailable, `the stream ended without a status (${stream.rstCode})`);
    if (status !== 0) return fail(status, decodeURIComponent(reason));
    const [first = NOTHING] = chunks;
    const whole = chunks.length > 1 ? Buffer.concat(chunks) : first;
    done(whole.subarray(FRAME_HEADER_BYTES));
  };
  stream.on('response', note);
  stream.on('trailers', note);
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('error', (error: Error) => fail(STATUS.unavailable, error.message));
  stream.on('end', () => {
    if (status !== undefined) finish();
  });
  stream.on('close', finish);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
