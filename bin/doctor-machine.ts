/** What `atoll doctor` looks at on the machine: Node, the binaries of PostgreSQL, the port. */
import { createServer } from 'node:net';
import type { Finding } from './doctor-finding.ts';

const OLDEST_NODE = [20, 20] as const;

/** @param version as in `process.versions.node` */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  const isOld = major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
  const says = isOld ? `${version} is too old: install Node ${OLDEST_NODE.join('.')}` : version;
  return { what: 'Node', state: isOld ? 'wrong' : 'fine', says };
}

/** The embedded PostgreSQL of `atoll dev`. */
export async function checkPostgresBinaries(): Promise<Finding> {
  const what = 'PostgreSQL from npm';
  const { findBinaries } = await import('../cell/storage/sql/embedded/binaries.ts');
  const { runningIdentity } = await import('../cell/storage/sql/embedded/identity.ts');
  const { postgres } = await findBinaries(await runningIdentity());
  return { what, state: 'fine', says: postgres };
}

export function checkPort(host: string, port: number): Promise<Finding> {
  const what = `port ${host}:${port}`;
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'is in use' : `cannot be had (${error.message})`;
      const says = `it ${why}: stop the program there, or choose another with --host and --port`;
      resolve({ what, state: 'wrong', says });
    });
    server.listen(port, host, () => {
      server.close(() => resolve({ what, state: 'fine', says: 'it is free' }));
    });
  });
}
