/** A TCP proxy in front of a database that answers late for as long as a test says: a disk or a network that is worn out. */
import { connect, createServer, type Socket } from 'node:net';

export type SlowProxy = {
  /** The URL, led through the proxy. */
  readonly url: string;
  /** From now on every answer of the database comes so much later; those under way as well. */
  delayAnswers(ms: number): void;
  close(): Promise<void>;
};

export async function slowProxy(url: string): Promise<SlowProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let delayMs = 0;
  const server = createServer((client) => {
    const database = connect(Number(target.port), target.hostname);
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    client.pipe(database);
    client.on('close', () => database.destroy());
    // One answer after the other, each held for the delay of its time: their order never changes.
    let before = Promise.resolve();
    database.on('data', (chunk: Buffer) => {
      const due = performance.now() + delayMs;
      before = before.then(() => untilTime(due)).then(() => void client.write(chunk));
    });
    database.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('the proxy has no port');
  const through = new URL(url);
  through.port = String(address.port);
  return {
    url: through.href,
    delayAnswers(ms) {
      delayMs = ms;
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function untilTime(due: number): Promise<void> | undefined {
  const left = due - performance.now();
  return left <= 0 ? undefined : new Promise((resolve) => setTimeout(resolve, left));
}
