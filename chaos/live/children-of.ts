/** The children of a process by program name, from /proc: how the harness finds the PostgreSQL of `atoll dev`. */
import { readdir, readFile } from 'node:fs/promises';

/** Pids of the children of `parent` that run a program of this name. */
export async function childrenOf(parent: number, program: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      // pid (program) state ppid …; the program may hold spaces and brackets, so it is read from both ends.
      const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
      const [, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return name === program && Number(ppid) === parent ? Number(pid) : undefined;
    }),
  );
  return found.filter((pid) => pid !== undefined);
}
