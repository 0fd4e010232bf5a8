/**
 * One engine per data folder (invariant 2 of embedded.ts).
 *
 * The file `engine` names the process that runs PostgreSQL here, by id and start time, since ids are used again. If
 * that process lives, the folder is taken. If it is gone, its PostgreSQL is told by a broken pipe to shut down; it is
 * waited for, and stopped if it does not go by itself.
 */
import { readFile, readlink, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep, type Clock } from '../../../../kernel/clock.ts';
import { AtollError } from '../../../../kernel/errors.ts';
import type { Log } from '../../../../kernel/log.ts';
import type { DataFolder } from './data-folder.ts';

const CLAIM_ATTEMPTS = 3;
const ORPHAN_GOES_MS = 3_000;
const ORPHAN_STOPS_MS = 10_000;
const LOOK_EVERY_MS = 25;

/** Takes the folder for this process; the result gives it back. */
export async function claimFolder(
  folder: DataFolder,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<() => Promise<void>> {
  const me = await stampOf(process.pid);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await writeFile(folder.engineFile, me, { flag: 'wx', mode: 0o644 });
      break;
    } catch (error) {
      if (attempt === CLAIM_ATTEMPTS) throw error;
      await removeDeadClaim(folder);
    }
  }
  await outliveOrphan(folder, { clock, log });
  return () => rm(folder.engineFile, { force: true });
}

/** Removes the claim of a process that is gone; of two that try, one finds the other's new claim and puts it back. */
async function removeDeadClaim(folder: DataFolder): Promise<void> {
  await refuseLiving(folder, folder.engineFile);
  const aside = `${folder.engineFile}.${process.pid}`;
  await rename(folder.engineFile, aside).catch(() => {});
  try {
    await refuseLiving(folder, aside);
    await rm(aside, { force: true });
  } catch (error) {
    await rename(aside, folder.engineFile);
    throw error;
  }
}

async function refuseLiving(folder: DataFolder, claim: string): Promise<void> {
  const stamp = await readFile(claim, 'utf8').catch(() => '');
  const pid = Number(stamp.split(' ')[0]);
  if (!pid || (await stampOf(pid)) !== stamp) return;
  throw new AtollError(
    'failed-precondition',
    `the data folder ${folder.path} is in use by another engine (process ${pid}): stop that one, or choose another folder`,
  );
}

/** Process id and start time; without /proc only the id, or nothing if there is no such process. */
async function stampOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The second field, a name in brackets, may hold anything; the start time is the 20th after it.
  const started = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  if (started !== undefined) return `${pid} ${started}`;
  return isAlive(pid) ? `${pid} -` : '';
}

async function outliveOrphan(
  folder: DataFolder,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const pid = await livingPostmaster(folder.cluster);
  if (pid === undefined) return;
  log.info({ pid }, 'waiting for the PostgreSQL of a killed engine to shut down');
  if (await gone(folder.cluster, clock, ORPHAN_GOES_MS)) return;
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    process.kill(pid, signal);
    if (await gone(folder.cluster, clock, ORPHAN_STOPS_MS)) return;
  }
  throw new AtollError(
    'failed-precondition',
    `PostgreSQL (process ${pid}) still runs on ${folder.cluster} and does not stop: stop it, then start again`,
  );
}

async function gone(cluster: string, clock: Clock, withinMs: number): Promise<boolean> {
  const deadline = clock.monotonicMs() + withinMs;
  while ((await livingPostmaster(cluster)) !== undefined) {
    if (clock.monotonicMs() > deadline) return false;
    await sleep(clock, LOOK_EVERY_MS);
  }
  return true;
}

/**
 * The postmaster that runs on this cluster. A lock file whose process is gone is left to PostgreSQL, which also looks
 * for orphaned backends; one whose id belongs to something else by now is removed, since PostgreSQL would heed it.
 */
async function livingPostmaster(cluster: string): Promise<number | undefined> {
  const lockFile = join(cluster, 'postmaster.pid');
  const text = await readFile(lockFile, 'utf8').catch(() => '');
  const pid = Number(text.split('\n')[0]);
  if (!pid || !isAlive(pid)) return undefined;
  const folder = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  if (folder === undefined || folder === (await realpath(cluster))) return pid;
  await rm(lockFile, { force: true });
  return undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
