/** A gRPC client of bytes, for tests that look at headers, trailers and resets. */
import { connect, constants, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import type { RunningRouter } from '../router.ts';

export type RawAnswer = {
  readonly headers: IncomingHttpHeaders;
  /** The trailers, or the headers of an answer without a message. */
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
};

const WINDOW_BYTES = 4 * 1024 * 1024;

export class RawClient {
  readonly #session: ClientHttp2Session;

  constructor(router: RunningRouter) {
    const { host, port } = router.address;
    this.#session = connect(`http://${host}:${port}`, {
      maxSessionMemory: 256,
      settings: { initialWindowSize: WINDOW_BYTES },
    });
    this.#session.once('connect', () => this.#session.setLocalWindowSize(WINDOW_BYTES));
    this.#session.on('error', () => {});
  }

  /** Sends one request; `signal` resets it. */
  call(
    path: string,
    body: Buffer,
    options: { headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<RawAnswer> {
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...options.headers,
    });
    options.signal?.addEventListener('abort', () => stream.close(constants.NGHTTP2_CANCEL));
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let headers: IncomingHttpHeaders = {};
      let trailers: IncomingHttpHeaders | undefined;
      stream.on('response', (got: IncomingHttpHeaders) => (headers = got));
      stream.on('trailers', (got: IncomingHttpHeaders) => (trailers = got));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('close', () =>
        resolve({ headers, trailers: trailers ?? headers, body: Buffer.concat(chunks) }),
      );
      stream.end(body);
    });
  }

  close(): void {
    this.#session.destroy();
  }
}

/** A gRPC frame round a message. */
export function framed(message: Uint8Array, compressed = false): Buffer {
  const head = Buffer.alloc(5);
  head[0] = compressed ? 1 : 0;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
