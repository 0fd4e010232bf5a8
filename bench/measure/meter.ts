/**
 * What a window cost: CPU and memory of each process, statements, transactions and WAL of PostgreSQL, and what others on
 * the machine used meanwhile.
 *
 * Invariants
 *  1. The figures of CPU cover the window and nothing else: the database is asked before it begins and after it ended.
 *  2. A process that ended inside the window makes the CPU of its name NaN, never smaller.
 */
import { nowMs } from '../load/time.ts';
import type { DatabaseMeter, DatabaseSnapshot } from './database-meter.ts';
import { cpuOf, cpuOfTree, machine, residentKb, treeMemoryKb } from './procfs.ts';

/** Processes of the bench by what they are. */
export const PROCESS_NAMES = [
  'router',
  'cell',
  'postgres',
  'worker',
  'load',
  'bench',
  'replica cell',
  'replica postgres',
] as const;
export type ProcessName = (typeof PROCESS_NAMES)[number];
type PerProcess = Readonly<Partial<Record<ProcessName, number>>>;

export type Snapshot = {
  readonly atMs: number;
  readonly cpuSeconds: PerProcess;
  readonly machine: ReturnType<typeof machine>;
  readonly memoryKb: PerProcess;
  readonly database: DatabaseSnapshot;
};

/** What lies between two snapshots. */
export type Cost = {
  readonly seconds: number;
  readonly cpuSeconds: PerProcess;
  /** Cores that others than the bench's processes used, kernel threads among them. */
  readonly outsideCores: number;
  readonly stealCores: number;
  /** At the end of the window. */
  readonly memoryKb: PerProcess;
  readonly statements: { readonly read: number; readonly write: number } | undefined;
  readonly writeTransactions: number;
  readonly walBytes: number;
  readonly fullPageImages: number;
  readonly walSyncs: number;
};

/** A run with more than this used by others does not count. */
export const MOST_OUTSIDE_CORES = 0.1;

export class Meter {
  readonly #database: DatabaseMeter;
  readonly #pids = new Map<ProcessName, () => number>();

  constructor(database: DatabaseMeter) {
    this.#database = database;
    this.watch('bench', () => process.pid);
  }

  /** Measures this process as well; `pid` is asked each time, so that a restarted one is found. */
  watch(name: ProcessName, pid: () => number): void {
    this.#pids.set(name, pid);
  }

  unwatch(name: ProcessName): void {
    this.#pids.delete(name);
  }

  async begin(): Promise<Snapshot> {
    const database = await this.#database.snapshot();
    const memoryKb = this.#memory();
    return { ...this.#cpu(), memoryKb, database };
  }

  async end(begin: Snapshot): Promise<Cost> {
    const cpu = this.#cpu();
    const database = await this.#database.snapshot();
    return difference(begin, { ...cpu, memoryKb: this.#memory(), database });
  }

  #cpu(): Pick<Snapshot, 'atMs' | 'cpuSeconds' | 'machine'> {
    const cpuSeconds = this.#perProcess((name, pid) =>
      isPostgres(name) ? cpuOfTree(pid) : cpuOf(pid),
    );
    return { atMs: nowMs(), cpuSeconds, machine: machine() };
  }

  #memory(): PerProcess {
    return this.#perProcess((name, pid) =>
      isPostgres(name) ? treeMemoryKb(pid) : residentKb(pid),
    );
  }

  #perProcess(measure: (name: ProcessName, pid: number) => number): PerProcess {
    return Object.fromEntries(
      [...this.#pids].map(([name, pid]) => [name, measure(name, pid())]),
    ) as PerProcess;
  }
}

/** PostgreSQL works through children. */
function isPostgres(name: ProcessName): boolean {
  return name === 'postgres' || name === 'replica postgres';
}

/** What a window cost, from the snapshots at its ends. */
export function difference(begin: Snapshot, end: Snapshot): Cost {
  const seconds = (end.atMs - begin.atMs) / 1000;
  const cpuSeconds = Object.fromEntries(
    Object.entries(end.cpuSeconds).map(([name, cpu]) => [
      name,
      cpu - (begin.cpuSeconds[name as ProcessName] ?? Number.NaN),
    ]),
  ) as PerProcess;
  const own = Object.values(cpuSeconds).reduce((sum, cpu) => sum + cpu, 0);
  const busy = end.machine.busySeconds - begin.machine.busySeconds;
  const grown = (counter: 'writes' | 'walBytes' | 'fullPageImages' | 'walSyncs') =>
    end.database[counter] - begin.database[counter];
  return {
    seconds,
    cpuSeconds,
    outsideCores: Math.max(0, busy - own) / seconds,
    stealCores: (end.machine.stealSeconds - begin.machine.stealSeconds) / seconds,
    memoryKb: end.memoryKb,
    statements: statementsBetween(begin.database, end.database),
    writeTransactions: grown('writes'),
    walBytes: grown('walBytes'),
    fullPageImages: grown('fullPageImages'),
    walSyncs: grown('walSyncs'),
  };
}

function statementsBetween(begin: DatabaseSnapshot, end: DatabaseSnapshot): Cost['statements'] {
  if (begin.statements === undefined || end.statements === undefined) return undefined;
  return {
    read: end.statements.read - begin.statements.read,
    write: end.statements.write - begin.statements.write,
  };
}
