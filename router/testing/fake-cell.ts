/**
 * A cell that does what a test tells it, on `node:http2` itself: so that the router is held against the protocol and
 * not against our own server.
 */
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';

const WINDOW_BYTES = 4 * 1024 * 1024;

/** One call as the cell saw it. */
export type SeenCall = {
  readonly headers: IncomingHttpHeaders;
  readonly stream: ServerHttp2Stream;
  /** The whole request, frame included. */
  readonly body: Buffer;
};

export type FakeCell = {
  /** `host:port`. */
  readonly address: string;
  /** Calls whose request was whole, in order. */
  readonly calls: readonly SeenCall[];
  /** Resolves when the cell has seen that many calls. */
  seen(count: number): Promise<void>;
  /** New calls are not read until `readOn`. */
  readSlowly(): void;
  readOn(): void;
  /** Cuts every connection, as the kernel does for a process that was killed, and stops listening. */
  kill(): Promise<void>;
};

/** Starts a cell that answers each whole request with `answer`. */
export async function startFakeCell(answer: (call: SeenCall) => void): Promise<FakeCell> {
  const calls: SeenCall[] = [];
  const sockets = new Set<Socket>();
  const unread: ServerHttp2Stream[] = [];
  let slow = false;
  let wake = () => {};
  const server = createServer({
    settings: { initialWindowSize: WINDOW_BYTES },
    maxSessionMemory: 256,
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('session', (session) => session.setLocalWindowSize(WINDOW_BYTES));
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => {});
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    if (slow) unread.push(stream.pause());
    stream.on('end', () => {
      const call = { headers, stream, body: Buffer.concat(chunks) };
      calls.push(call);
      answer(call);
      wake();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    async seen(count) {
      while (calls.length < count) await new Promise<void>((resolve) => (wake = resolve));
    },
    readSlowly: () => void (slow = true),
    readOn() {
      slow = false;
      for (const stream of unread.splice(0)) stream.resume();
    },
    async kill() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Answers with the request's own bytes. */
export function echo({ stream, body }: SeenCall): void {
  reply(stream, body, { 'grpc-status': '0' });
}

/** Answers with these bytes and trailers. */
export function reply(
  stream: ServerHttp2Stream,
  body: Buffer,
  trailers: Record<string, string>,
): void {
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.end(body);
}

/** Refuses as a cell does that is not active for the namespace: with headers alone. */
export function refuse(owner: string, epoch: number): (call: SeenCall) => void {
  const refusal = { 'atoll-owner': owner, 'atoll-epoch': String(epoch) };
  return (call) => refuseWith(call, { 'atoll-refused': 'not-active', ...refusal });
}

/** Refuses as a cell does whose namespace is closed for its move. */
export function refuseForHandover(call: SeenCall): void {
  refuseWith(call, { 'atoll-refused': 'handover' });
}

function refuseWith({ stream }: SeenCall, refusal: Record<string, string>): void {
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14', ...refusal },
    { endStream: true },
  );
}
