/**
 * Writing files that survive a crash: bytes into a new file, fsync, then the name, then fsync of the directory.
 * A reader sees the whole file or none.
 */
import { link, open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Gives the bytes the name `path`, in place of what had it. */
export async function replaceFile(path: string, temporary: string, text: string): Promise<void> {
  await writeSynced(temporary, text);
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/**
 * Gives the bytes the name `path` if nothing has it: of any number of racers, in any processes, one gets `true`.
 * The file system decides (link(2) fails when the name is taken), so there is no lock for a dead process to leave behind.
 */
export async function createFile(path: string, temporary: string, text: string): Promise<boolean> {
  await writeSynced(temporary, text);
  try {
    await link(temporary, path);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await unlink(temporary);
  }
  await syncDirectory(dirname(path));
  return true;
}

/** Is it a system error with this code, such as ENOENT? */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
