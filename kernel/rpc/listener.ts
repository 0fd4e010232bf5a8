/**
 * The listening side of a port on which HTTP/2 and links come: tells them apart, and hands the connection on.
 * Place: under server.ts. TLS tells by the protocol that was agreed (ALPN), cleartext by the first bytes.
 *
 * Invariants
 *  1. A connection that says nothing for `FIRST_BYTES_MS` is closed (P11).
 *  2. `close` also ends the connections that have not said what they are.
 */
import type { SecureServerOptions } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Clock } from '../clock.ts';
import { HELLO } from '../link/frames.ts';
import { LINK_ALPN } from '../link/link.ts';

export type ListenerOptions = {
  readonly clock: Clock;
  readonly tls: SecureServerOptions | undefined;
  readonly onHttp2: (socket: Socket) => void;
  /** `first` is what was read of it. */
  readonly onLink: (socket: Socket, first: Buffer) => void;
};

export type Listener = {
  readonly server: Server;
  /** Resolves when every connection is gone. */
  close(): Promise<void>;
};

const FIRST_BYTES_MS = 10_000;
const NO_BYTES = Buffer.alloc(0);

export function listener(options: ListenerOptions): Listener {
  const undecided = new Set<Socket>();
  const decide = (socket: Socket) => {
    undecided.add(socket);
    const cancel = options.clock.after(FIRST_BYTES_MS, () => socket.destroy());
    const decided = () => {
      cancel();
      undecided.delete(socket);
    };
    const ignore = () => {}; // `close` follows
    socket.on('error', ignore);
    socket.once('close', decided);
    socket.once('readable', () => {
      const first = (socket.read() as Buffer | null) ?? NO_BYTES;
      decided();
      socket.off('close', decided);
      if (first.length === 0) return void socket.destroy();
      if (first[0] === HELLO[0]) return options.onLink(socket, first);
      socket.unshift(first);
      options.onHttp2(socket);
    });
  };
  const { tls } = options;
  const server =
    tls === undefined
      ? createServer(decide)
      : createTlsServer({ ...tls, ALPNProtocols: ['h2', LINK_ALPN] }, (socket) => {
          if (socket.alpnProtocol === LINK_ALPN) options.onLink(socket, NO_BYTES);
          else if (socket.alpnProtocol === 'h2') options.onHttp2(socket);
          else socket.destroy();
        });
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of undecided) socket.destroy();
    });
  return { server, close };
}
