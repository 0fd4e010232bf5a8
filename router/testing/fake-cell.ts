/**
 * A cell that does what a test tells it, on the frames of a link: so that the router is held against the protocol and
 * not against our own server.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import {
  decodeHead,
  encodeFrame,
  encodeHead,
  FRAME,
  type Frame,
} from '../../kernel/link/frames.ts';
import { LinkSocket } from '../../kernel/link/link-socket.ts';

/** One call as the cell saw it. */
export type SeenCall = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole request, frame included. */
  readonly body: Buffer;
  /** Answers, with a message in its frame or without. */
  reply(trailers: Readonly<Record<string, string>>, message?: Buffer): void;
  /** Resolves when the router takes the call back. */
  readonly cancelled: Promise<void>;
};

export type FakeCell = {
  /** `host:port`. */
  readonly address: string;
  readonly calls: readonly SeenCall[];
  /** Resolves when the cell has seen that many calls. */
  seen(count: number): Promise<void>;
  /** Cuts every connection, as the kernel does for a process that was killed, and stops listening. */
  kill(): Promise<void>;
};

/** Starts a cell that answers each request with `answer`. */
export async function startFakeCell(answer: (call: SeenCall) => void): Promise<FakeCell> {
  const calls: SeenCall[] = [];
  const sockets = new Set<Socket>();
  let wake = () => {};
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    const cancels = new Map<number, () => void>();
    const link: LinkSocket = new LinkSocket(socket, {
      greeted: () => {},
      closed: () => {},
      frame: (frame) => {
        if (frame.kind === FRAME.ping) link.send(encodeFrame(FRAME.pong, 0));
        if (frame.kind === FRAME.cancel) cancels.get(frame.call)?.();
        if (frame.kind !== FRAME.call) return;
        const cancelled = new Promise<void>((resolve) => cancels.set(frame.call, resolve));
        const call = { ...seenCall(link, frame), cancelled };
        calls.push(call);
        answer(call);
        wake();
      },
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    async seen(count) {
      while (calls.length < count) await new Promise<void>((resolve) => (wake = resolve));
    },
    async kill() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function seenCall(link: LinkSocket, frame: Frame): Omit<SeenCall, 'cancelled'> {
  const lines = frame.head.split('\n');
  return {
    path: lines[0] ?? '',
    headers: decodeHead(lines, 1),
    body: frame.body,
    reply: (trailers, message = Buffer.alloc(0)) =>
      link.send(encodeFrame(FRAME.reply, frame.call, encodeHead(trailers), [message])),
  };
}

/** Answers with the request's own bytes. */
export function echo(call: SeenCall): void {
  call.reply({ 'grpc-status': '0' }, call.body);
}

/** Refuses as a cell does that is not active for the namespace. */
export function refuse(owner: string, epoch: number): (call: SeenCall) => void {
  const refusal = { 'atoll-owner': owner, 'atoll-epoch': String(epoch) };
  return (call) => call.reply({ 'grpc-status': '14', 'atoll-refused': 'not-active', ...refusal });
}

/** Refuses as a cell does whose namespace is closed for its move. */
export function refuseForHandover(call: SeenCall): void {
  call.reply({ 'grpc-status': '14', 'atoll-refused': 'handover' });
}
