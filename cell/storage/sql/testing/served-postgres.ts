/**
 * A PostgreSQL server as a user runs one: not started by the engine, so the engine knows its URL alone. Of the machine
 * if one is installed, else of the package that the embedded one comes from.
 *
 * Place: tests that need a server of their own to stop, kill, copy or promote.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chown, cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { sleep, systemClock } from '../../../../kernel/clock.ts';
import { findBinaries, type Binaries } from '../embedded/binaries.ts';
import { USER } from '../embedded/cluster.ts';
import { runningIdentity, type Identity } from '../embedded/identity.ts';
import { openRaw } from './raw-connection.ts';

const INSTALLED = '/usr/lib/postgresql';
const OLDEST = 15;
const START_MS = 30_000;

/** A stopped data directory. */
export type Cluster = {
  readonly folder: string;
  readonly binaries: Binaries;
  readonly identity: Identity;
};

export type ServedPostgres = {
  readonly cluster: Cluster;
  url(database: string): string;
  /** SIGKILL: no goodbye to anybody. */
  kill(): Promise<void>;
  /** Fast shutdown. */
  stop(): Promise<void>;
};

/** Makes a data directory below a folder that belongs to the tests. */
export async function makeCluster(parent: string, name: string): Promise<Cluster> {
  const identity = await runningIdentity();
  const binaries = (await installed()) ?? (await findBinaries(identity));
  if (identity.lowered) await chown(parent, identity.uid, identity.gid);
  const folder = join(parent, name);
  await mkdir(folder, { mode: 0o700 });
  if (identity.lowered) await chown(folder, identity.uid, identity.gid);
  const flags = [`-D${folder}`, `-U${USER}`, '-Atrust', '-EUTF8', '--locale=C', '--no-sync'];
  const child = run({ folder, binaries, identity }, binaries.initdb, flags);
  await once(child, 'exit');
  if (child.exitCode !== 0) throw new Error(`initdb ended with ${child.exitCode}`);
  return { folder, binaries, identity };
}

/** A copy of a stopped data directory; with `follows` it starts as a streaming standby of that server. */
export async function copyCluster(
  source: Cluster,
  name: string,
  follows?: ServedPostgres,
): Promise<Cluster> {
  const folder = join(source.folder, '..', name);
  await cp(source.folder, folder, { recursive: true, preserveTimestamps: true });
  if (follows) {
    const { hostname, port } = new URL(follows.url('postgres'));
    const settings = `primary_conninfo = 'host=${hostname} port=${port} user=${USER}'\n`;
    await appendFile(join(folder, 'postgresql.auto.conf'), settings);
    await writeFile(join(folder, 'standby.signal'), '');
  }
  await own(folder, source.identity);
  return { ...source, folder };
}

export async function startServed(
  cluster: Cluster,
  settings: Readonly<Record<string, string>> = {},
): Promise<ServedPostgres> {
  const port = await freePort();
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = ['-D', cluster.folder, '-p', String(port), ...flags];
  const child = run(cluster, cluster.binaries.postgres, command);
  const url = (database: string) => `postgres://${USER}@127.0.0.1:${port}/${database}`;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const end = async (signal: 'SIGKILL' | 'SIGINT') => {
    child.kill(signal);
    await exited;
  };
  await untilServing(url('postgres'), child);
  return { cluster, url, kill: () => end('SIGKILL'), stop: () => end('SIGINT') };
}

async function untilServing(url: string, child: ChildProcess): Promise<void> {
  const until = performance.now() + START_MS;
  for (;;) {
    try {
      return await (await openRaw(url)).close();
    } catch (error) {
      if (performance.now() > until || child.exitCode !== null) throw error;
      await sleep(systemClock, 50);
    }
  }
}

function run({ folder, identity }: Cluster, program: string, args: readonly string[]) {
  return spawn(program, args, {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'ignore', 'ignore'],
    ...(identity.lowered ? { uid: identity.uid, gid: identity.gid } : {}),
  });
}

async function installed(): Promise<Binaries | undefined> {
  const versions = (await readdir(INSTALLED).catch(() => [])).map(Number);
  const newest = Math.max(...versions.filter((version) => version >= OLDEST));
  if (!Number.isFinite(newest)) return undefined;
  const bin = join(INSTALLED, String(newest), 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

async function own(folder: string, { lowered, uid, gid }: Identity): Promise<void> {
  if (!lowered) return;
  await chown(folder, uid, gid);
  for (const entry of await readdir(folder, { recursive: true })) {
    await chown(join(folder, entry), uid, gid);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || !address) throw new Error('no free port');
  return address.port;
}
