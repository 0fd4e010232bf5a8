/**
 * Writing files that survive a crash: bytes into a new file, fsync, then the name, then fsync of the directory.
 * A reader sees the whole file or none.
 */
import { link, open, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Gives the bytes the name `path`, in place of what had it. */
export async function replaceFile(path: string, temporary: string, text: string): Promise<void> {
  await writeSynced(temporary, text);
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** `claimFile`, and its name survives a crash. */
export async function createFile(path: string, temporary: string, text: string): Promise<boolean> {
  if (!(await claimFile(path, temporary, text))) return false;
  await syncDirectory(dirname(path));
  return true;
}

/**
 * Gives the bytes the name `path` if nothing has it: of any number of racers, in any processes, one gets `true`.
 * The file system decides (link(2) fails when the name is taken), so there is no lock for a dead process to leave behind.
 * The name is there for everybody then, but survives a crash only after `syncDirectory`.
 * @throws a system error when the name was not given, as far as can be seen
 */
export async function claimFile(path: string, temporary: string, text: string): Promise<boolean> {
  try {
    const written = await writeSynced(temporary, text);
    return await linkOnce(temporary, path, written);
  } finally {
    // What cannot be removed only takes room: it must not hide who won.
    await unlink(temporary).catch(() => {});
  }
}

/** Is it a system error with this code, such as ENOENT? */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

type FileId = { readonly dev: bigint; readonly ino: bigint };

/** True once the file has the name, whatever the file system said: an error may come after the deed. */
async function linkOnce(temporary: string, path: string, written: FileId): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    const there = await stat(path, { bigint: true }).catch(() => undefined);
    if (there !== undefined && there.dev === written.dev && there.ino === written.ino) return true;
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

async function writeSynced(path: string, text: string): Promise<FileId> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(text);
    await file.sync();
    return await file.stat({ bigint: true });
  } finally {
    await file.close();
  }
}

/** Names that were given in the directory survive a crash from now on. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
