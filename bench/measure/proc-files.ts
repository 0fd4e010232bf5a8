/**
 * What Linux says about processes under /proc, read from its text. Pure: procfs.ts reads the files.
 */

/** Clock ticks a second in which the kernel counts CPU time (USER_HZ, 100 on every Linux that Node runs on). */
const TICKS_PER_SECOND = 100;
/** Fields of /proc/<pid>/stat, counted from the one behind the program's name. */
const STAT = { parent: 1, user: 11, system: 12, reapedUser: 13, reapedSystem: 14 } as const;

export type ProcessStat = {
  readonly parent: number;
  /** CPU seconds of the process itself, all threads, user and system. */
  readonly ownSeconds: number;
  /** CPU seconds of its children that have ended and were waited for. */
  readonly reapedSeconds: number;
};

export type MachineStat = {
  /** CPU seconds of the whole machine that somebody used. */
  readonly busySeconds: number;
  /** CPU seconds that the hypervisor gave to others. */
  readonly stealSeconds: number;
};

/** Reads /proc/<pid>/stat. The program's name may hold spaces and brackets: it ends at the last bracket. */
export function parseProcessStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (at: number) => Number(fields[at]);
  return {
    parent: field(STAT.parent),
    ownSeconds: (field(STAT.user) + field(STAT.system)) / TICKS_PER_SECOND,
    reapedSeconds: (field(STAT.reapedUser) + field(STAT.reapedSystem)) / TICKS_PER_SECOND,
  };
}

/** Reads the first line of /proc/stat. Waiting for a disk is not use. */
export function parseMachineStat(text: string): MachineStat {
  const [line = ''] = text.split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return {
    busySeconds: (user + nice + system + irq + softIrq) / TICKS_PER_SECOND,
    stealSeconds: steal / TICKS_PER_SECOND,
  };
}

/** A size such as `VmRSS` of /proc/<pid>/status, or `Pss` of its smaps_rollup, in KB; 0 where there is none. */
export function parseKilobytes(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
}
