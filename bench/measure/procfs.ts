/** Reads the files of /proc; what they mean is in proc-files.ts. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';
import {
  parseKilobytes,
  parseMachineStat,
  parseProcessStat,
  type MachineStat,
  type ProcessStat,
} from './proc-files.ts';

/** CPU seconds of one process; NaN when it is gone. */
export function cpuOf(pid: number): number {
  return statOf(pid)?.ownSeconds ?? Number.NaN;
}

/** CPU seconds of a process that works through children, such as PostgreSQL: those that ended included. */
export function cpuOfTree(pid: number): number {
  const stat = statOf(pid);
  if (stat === undefined) return Number.NaN;
  const own = stat.ownSeconds + stat.reapedSeconds;
  return childrenOf(pid).reduce((sum, child) => sum + (statOf(child)?.ownSeconds ?? 0), own);
}

/** Memory of one process that lies in RAM, in KB. */
export function residentKb(pid: number): number {
  return parseKilobytes(read(`${pid}/status`), 'VmRSS');
}

/** Memory of a process and its children in KB, what they share counted once. */
export function treeMemoryKb(pid: number): number {
  const all = [pid, ...childrenOf(pid)];
  return all.reduce((sum, each) => sum + parseKilobytes(read(`${each}/smaps_rollup`), 'Pss'), 0);
}

export function machine(): MachineStat {
  return parseMachineStat(read('stat'));
}

function childrenOf(parent: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && statOf(Number(name))?.parent === parent)
    .map(Number);
}

function statOf(pid: number): ProcessStat | undefined {
  const text = read(`${pid}/stat`);
  return text === '' ? undefined : parseProcessStat(text);
}

/** Empty when the process is gone. */
function read(name: string): string {
  try {
    return readFileSync(`/proc/${name}`, 'utf8');
  } catch {
    return '';
  }
}
