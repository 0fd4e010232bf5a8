/**
 * As whom PostgreSQL runs. It refuses root, so a process of root (containers, CI) runs it as an unprivileged user.
 */
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { AtollError } from '../../../../kernel/errors.ts';

export type Identity = {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
  /** This process is root, and PostgreSQL runs as somebody else. */
  readonly lowered: boolean;
};

const UNPRIVILEGED = ['postgres', 'nobody'];
const EXECUTE = 0o1;

/** This process's user; an unprivileged one if that is root. */
export async function runningIdentity(): Promise<Identity> {
  const uid = process.getuid?.();
  const gid = process.getgid?.();
  if (uid === undefined || gid === undefined) {
    throw new AtollError(
      'unimplemented',
      'the embedded PostgreSQL runs on Linux and macOS: give the URL of a PostgreSQL server instead',
    );
  }
  if (uid !== 0) return { uid, gid, name: `uid ${uid}`, lowered: false };
  const users = await readUsers();
  const found = UNPRIVILEGED.map((name) => users.find((user) => user.name === name)).find(Boolean);
  if (found) return { ...found, lowered: true };
  throw new AtollError(
    'failed-precondition',
    'PostgreSQL does not run as root, and this machine has no user "postgres" or "nobody": run Atoll as another user',
  );
}

async function readUsers(): Promise<readonly { name: string; uid: number; gid: number }[]> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n');
  return lines.flatMap((line) => {
    const [name = '', , uid = '', gid = ''] = line.split(':');
    return /^\d+$/.test(uid) && uid !== '0' ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

/** May this user walk down through the folders to this one, into it? Folders that do not exist yet are no hindrance. */
export async function canEnter(path: string, identity: Identity): Promise<boolean> {
  if (!identity.lowered) return true;
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const facts = await stat(folder).catch(() => undefined);
    if (facts && (bitsFor(facts, identity) & EXECUTE) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

function bitsFor(
  facts: { readonly mode: number; readonly uid: number; readonly gid: number },
  { uid, gid }: Identity,
): number {
  if (facts.uid === uid) return facts.mode >> 6;
  return facts.gid === gid ? facts.mode >> 3 : facts.mode;
}
