/**
 * A throwaway folder for journals and an engine's data.
 *
 * Place: under the demo. Started as root, the engine runs PostgreSQL as another user, who has to reach its data in here:
 * else the engine would put it elsewhere, where nobody removes it.
 */
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const ENTER = 0o001;
const REMOVE_TRIES = 5;

/** Makes the folder where every user may enter. */
export async function makeThrowawayFolder(prefix: string): Promise<string> {
  const base = (await anybodyEnters(tmpdir())) ? tmpdir() : '/var/tmp';
  const folder = await mkdtemp(join(base, prefix));
  await chmod(folder, 0o755);
  return folder;
}

/** Removes it, also while a process that is ending writes its last file. */
export function removeThrowawayFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: REMOVE_TRIES, retryDelay: 500 });
}

async function anybodyEnters(path: string): Promise<boolean> {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const { mode } = await stat(folder);
    if ((mode & ENTER) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}
