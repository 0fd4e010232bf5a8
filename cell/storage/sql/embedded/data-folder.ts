/**
 * The folder that PostgreSQL's user owns: `pg/` (the cluster), `password`, `engine` (who runs it).
 *
 * Invariant: nothing of another user is touched: such a folder is refused with words that name its owner.
 */
import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { AtollError } from '../../../../kernel/errors.ts';
import { canEnter, type Identity } from './identity.ts';

const RELOCATED = '/var/lib/atoll';

export type DataFolder = {
  readonly path: string;
  /** What was asked for, if this is another folder. */
  readonly relocatedFrom: string | undefined;
  /** PostgreSQL's own data directory. */
  readonly cluster: string;
  readonly passwordFile: string;
  readonly engineFile: string;
};

/** Makes the folder, or checks that it is ours. */
export async function prepareDataFolder(dataDir: string, identity: Identity): Promise<DataFolder> {
  const asked = resolve(dataDir);
  const reachable = await canEnter(dirname(asked), identity);
  const path = reachable ? asked : join(RELOCATED, nameFor(asked));
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  await mkdir(path, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    throw new AtollError(
      'permission-denied',
      `cannot make the data folder ${path}: choose one that this user may write`,
      { cause },
    );
  });
  await own(path, identity);
  const cluster = join(path, 'pg');
  await refuseForeign(cluster, identity);
  return {
    path,
    relocatedFrom: reachable ? undefined : asked,
    cluster,
    passwordFile: join(path, 'password'),
    engineFile: join(path, 'engine'),
  };
}

function nameFor(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16);
}

async function own(path: string, identity: Identity): Promise<void> {
  const facts = await lstat(path);
  if (!facts.isDirectory()) {
    throw new AtollError(
      'failed-precondition',
      `${path} is not a folder: choose another data folder`,
    );
  }
  if (facts.uid !== identity.uid) {
    const fresh = facts.uid === process.getuid?.() && (await readdir(path)).length === 0;
    if (!fresh) throw foreign(path, facts.uid, identity);
    await chown(path, identity.uid, identity.gid);
  }
  await chmod(path, 0o700);
}

async function refuseForeign(path: string, identity: Identity): Promise<void> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts && facts.uid !== identity.uid) throw foreign(path, facts.uid, identity);
}

function foreign(path: string, owner: number, identity: Identity): AtollError {
  return new AtollError(
    'permission-denied',
    `the data folder ${path} belongs to uid ${owner}, but PostgreSQL would run as ${identity.name} (uid ` +
      `${identity.uid}): run Atoll as the folder's owner, or choose another, empty folder`,
  );
}
