/**
 * A call that came as an HTTP/2 stream: brings it to its ServerCall, and the answer back.
 * Place: made by server.ts for every stream of POST and `application/grpc`.
 *
 * Invariants
 *  1. It never throws: a stream that is gone is left alone (`respond` on one throws).
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { peerOf } from './peer.ts';
import { ServerCall, type CallWire, type ServerCallOptions } from './server-call.ts';
import type { StatusHeaders } from './status.ts';

const GRPC = 'application/grpc';
const HEAD = { ':status': 200, 'content-type': GRPC } as const;

/** Begins to read the request. @param onClosed the stream is closed: nothing follows */
export function serveStream(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  options: ServerCallOptions & { readonly onClosed: (call: ServerCall) => void },
): ServerCall {
  const call = new ServerCall(new StreamWire(stream, headers), options);
  stream.on('error', () => call.clientGone());
  stream.on('close', () => {
    call.clientGone();
    options.onClosed(call);
  });
  stream.on('data', (chunk: Buffer) => call.received(chunk));
  stream.on('end', () => void call.run());
  return call;
}

class StreamWire implements CallWire {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly #stream: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.#stream = stream;
    this.headers = headers;
    this.path = String(headers[':path']);
  }

  get peer(): string | undefined {
    return peerOf(this.#stream.session);
  }

  answer(chunks: readonly Uint8Array[]): void {
    const stream = this.#stream;
    this.#guard(() => {
      stream.on('wantTrailers', () => {
        if (!stream.destroyed) stream.sendTrailers({ 'grpc-status': '0' });
      });
      stream.respond(HEAD, { waitForTrailers: true });
      const last = chunks.length - 1;
      if (last > 0) stream.cork();
      for (let i = 0; i < last; i++) stream.write(chunks[i]);
      stream.end(chunks[last]);
      if (last > 0) stream.uncork();
    });
  }

  refuse(status: StatusHeaders): void {
    this.#guard(() => {
      this.#stream.respond({ ...HEAD, ...status }, { endStream: true });
      // The rest of a request that we refuse early is not read: tell the client to stop sending.
      if (!this.#stream.readableEnded) this.#stream.close(0);
    });
  }

  /** A stream can be lost between the check and the call; that is the client's going, not an error of ours. */
  #guard(answer: () => void): void {
    if (this.#stream.destroyed || this.#stream.closed || this.#stream.headersSent) return;
    try {
      answer();
    } catch {
      this.#stream.destroy();
    }
  }
}
