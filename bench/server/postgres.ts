/**
 * PostgreSQL as a process of its own, made anew for each run of the bench, as durable as in production.
 *
 * Invariants
 *  1. fsync, full page writes and synchronous commit are on, whatever its programs' defaults say.
 *  2. It listens on loopback only.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, statfsSync, chownSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Leashed } from './leashed.ts';
import { findPostgres, type PostgresPrograms } from './postgres-programs.ts';

const START_MS = 60_000;
const STOP_MS = 20_000;
const SUPERUSER = 'bench';
/** f_type of a file system that lies in memory. */
const TMPFS = 0x01021994;

/** What `atoll dev` runs its own PostgreSQL with, less what only a terminal notices. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_connections: '60',
  shared_buffers: '128MB',
  max_wal_size: '1GB',
  checkpoint_timeout: '15min',
  jit: 'off',
};
const STATEMENTS = { shared_preload_libraries: 'pg_stat_statements' };

export type BenchPostgres = {
  readonly pid: () => number;
  readonly url: (database: string) => string;
  /** Version and where its programs lie. */
  readonly what: string;
  /** Its data lies in memory: fsync costs nothing, and no figure of this run means anything. */
  readonly inMemory: boolean;
  readonly stop: () => Promise<void>;
};

/** Makes a cluster in `folder` and starts it. */
export async function startPostgres(folder: string, port: number): Promise<BenchPostgres> {
  const programs = findPostgres();
  const data = join(folder, 'postgres');
  initialise(programs, data);
  const settings = Object.entries({ ...SETTINGS, ...preload(programs.bin) });
  const server = new Leashed({
    name: 'PostgreSQL',
    command: [
      join(programs.bin, 'postgres'),
      ...['-D', data, '-p', String(port)],
      ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    logFile: join(folder, 'postgres.log'),
    stopSignal: 'INT',
    stopWithinMs: STOP_MS,
    cwd: data,
    user: programs.user,
    environment: { LC_ALL: 'C' },
  });
  await server.saying(
    (output) => output.includes('ready to accept connections') || undefined,
    START_MS,
  );
  return {
    pid: () => server.pid,
    url: (database) => `postgres://${SUPERUSER}@127.0.0.1:${port}/${database}`,
    what: `PostgreSQL ${programs.version} (${programs.bin})`,
    inMemory: statfsSync(folder).type === TMPFS,
    stop: () => server.stop(),
  };
}

function initialise({ bin, user }: PostgresPrograms, data: string): void {
  mkdirSync(data, { recursive: true, mode: 0o700 });
  if (user !== undefined) chownSync(data, user.uid, user.gid);
  const args = ['-D', data, '-U', SUPERUSER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'];
  // Quiet: what it says matters only when it fails, and then it is part of the error.
  execFileSync(join(bin, 'initdb'), args, { stdio: 'pipe', cwd: data, ...user });
}

/** pg_stat_statements, where these programs come with it. */
function preload(bin: string): Readonly<Record<string, string>> {
  const root = dirname(bin);
  const libraries = [join(root, 'lib'), join(root, 'lib', 'postgresql')];
  const there = libraries.some((folder) => existsSync(join(folder, 'pg_stat_statements.so')));
  return there ? STATEMENTS : {};
}
