/**
 * Makes a database cluster (initdb), once per data folder.
 *
 * Invariant: the cluster appears under its name whole or not at all: it is made beside it and renamed.
 */
import { chown, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { AtollError } from '../../../../kernel/errors.ts';
import type { Log } from '../../../../kernel/log.ts';
import type { Rng } from '../../../../kernel/rng.ts';
import type { Binaries } from './binaries.ts';
import type { DataFolder } from './data-folder.ts';
import type { Identity } from './identity.ts';

export type Cluster = {
  readonly folder: DataFolder;
  readonly binaries: Binaries;
  readonly identity: Identity;
};

/** The database user that owns everything. */
export const USER = 'atoll';
/** What PostgreSQL sees of the environment: nothing of ours. */
export const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** Makes the cluster if there is none, and returns its user's password. */
export async function ensureCluster(
  cluster: Cluster,
  { rng, log }: { readonly rng: Rng; readonly log: Log },
): Promise<string> {
  const { folder, identity } = cluster;
  const present = await stat(folder.cluster).catch(() => undefined);
  if (present) {
    return readFile(folder.passwordFile, 'utf8').catch((cause: unknown) => {
      throw new AtollError(
        'failed-precondition',
        `${folder.passwordFile}, the password of the database beside it, is missing: put it back, or use another folder`,
        { cause },
      );
    });
  }
  log.info({ folder: folder.path }, 'making a PostgreSQL database; later starts are faster');
  const password = Buffer.from(rng.bytes(24)).toString('base64url');
  await rm(folder.passwordFile, { force: true });
  await writeFile(folder.passwordFile, password, { mode: 0o600 });
  await chown(folder.passwordFile, identity.uid, identity.gid);
  const draft = `${folder.cluster}.new`;
  await rm(draft, { recursive: true, force: true });
  await initdb(cluster, draft);
  await rename(draft, folder.cluster);
  return password;
}

function initdb({ folder, binaries, identity }: Cluster, target: string): Promise<void> {
  const child = spawn(
    binaries.initdb,
    [
      `--pgdata=${target}`,
      `--username=${USER}`,
      `--pwfile=${folder.passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
    ],
    {
      env: ENVIRONMENT,
      cwd: folder.path,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(identity.lowered ? { uid: identity.uid, gid: identity.gid } : {}),
    },
  );
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => said.push(chunk.toString('utf8')));
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(initdbError(folder, signal ?? `exit ${code}`, said.join('')));
    });
  });
}

function initdbError(folder: DataFolder, ended: string, said: string): AtollError {
  if (said.includes('No space left on device')) {
    return new AtollError(
      'failed-precondition',
      `the disk of ${folder.path} has no room for a database: free some space there, or choose another data folder`,
    );
  }
  return new AtollError(
    'internal',
    `initdb could not make a database in ${folder.path} (${ended}): ${said.trim().slice(-500)}`,
  );
}
