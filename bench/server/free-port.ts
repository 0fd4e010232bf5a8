/** A port of loopback that nobody listens on. */
import { createServer } from 'node:net';

/** The port asked for, or a free one for 0. */
export function portOr(asked: number): Promise<number> {
  if (asked !== 0) return Promise.resolve(asked);
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
