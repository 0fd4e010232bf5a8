/** A TCP proxy in front of PostgreSQL whose connections a test can cut: the server's backends do not notice at once. */
import { connect, createServer, type Socket } from 'node:net';

export type CuttableProxy = {
  /** The URL, led through the proxy. */
  readonly url: string;
  /** Cuts all connections, towards the client and towards the server. */
  cut(): void;
  /** Leads new connections to the server of this URL. */
  leadTo(url: string): void;
  close(): Promise<void>;
};

export async function cuttableProxy(url: string): Promise<CuttableProxy> {
  let target = new URL(url);
  const sockets = new Set<Socket>();
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('the proxy has no port');
  const through = new URL(url);
  through.port = String(address.port);
  return {
    url: through.href,
    cut,
    leadTo(other) {
      target = new URL(other);
    },
    close: () =>
      new Promise((resolve) => {
        cut();
        server.close(() => resolve());
      }),
  };
}
