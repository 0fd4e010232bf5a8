/**
 * The router's own answers on a client's stream. A stream that is gone is left alone: `respond` on one throws, and
 * would end the process.
 */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { AtollError } from '../kernel/errors.ts';
import { frame } from '../kernel/rpc/frame.ts';
import { statusHeaders } from '../kernel/rpc/status.ts';
import { encodeStatusDetails } from '../wire/failures.ts';

const HEAD = { ':status': 200, 'content-type': 'application/grpc' } as const;
const NO_ERROR = 0;

/** Tells the client of an error, before anything else was answered. */
export function answerError(stream: ServerHttp2Stream, error: AtollError): void {
  guard(stream, () => {
    stream.respond(
      { ...HEAD, ...statusHeaders(error, encodeStatusDetails(error)) },
      { endStream: true },
    );
    stopRequest(stream);
  });
}

/** Gives the client a message and status 0. */
export function answerMessage(stream: ServerHttp2Stream, message: Uint8Array): void {
  guard(stream, () => {
    stream.once('wantTrailers', () => sendTrailers(stream, { 'grpc-status': '0' }));
    stream.respond(HEAD, { waitForTrailers: true });
    for (const chunk of frame(message)) stream.write(chunk);
    stream.end();
  });
}

/** Gives the client what its cell answered: the message in its frame, and the trailers. */
export function answerAsCell(
  stream: ServerHttp2Stream,
  trailers: Readonly<Record<string, string>>,
  message: Uint8Array,
): void {
  guard(stream, () => {
    if (message.length === 0) {
      stream.respond({ ...HEAD, ...trailers }, { endStream: true });
      return;
    }
    stream.once('wantTrailers', () => sendTrailers(stream, trailers));
    stream.respond(HEAD, { waitForTrailers: true });
    stream.end(message);
  });
}

/** The trailers, if the client is still there. */
export function sendTrailers(stream: ServerHttp2Stream, trailers: OutgoingHttpHeaders): void {
  guard(stream, () => stream.sendTrailers(trailers));
}

/** The rest of a request that is answered already is not read: tells the client to stop sending. */
export function stopRequest(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) stream.close(NO_ERROR);
}

/** Not a gRPC call: the status that the protocol asks for. */
export function answerNotGrpc(stream: ServerHttp2Stream): void {
  guard(stream, () => {
    stream.respond({ ':status': 415, 'content-type': 'text/plain' });
    stream.end('This port speaks gRPC over HTTP/2.\n');
  });
}

/** Runs it on a live stream; one that dies meanwhile is the client's going, not an error of ours. */
export function guard(stream: ServerHttp2Stream, answer: () => void): void {
  if (stream.destroyed || stream.closed) return;
  try {
    answer();
  } catch {
    stream.destroy();
  }
}
