/**
 * The same load by thin-bench, a load tool that knows nothing of this engine, for the question whether our own tool tells
 * the truth: both run by turns on the same engine, and must agree.
 *
 * Place: `--against FOLDER`, between the rounds of a scenario.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { median } from './load/samples.ts';
import { MOST_OUTSIDE_CORES } from './measure/meter.ts';
import { objectionsTo } from './report/result.ts';
import { NAMESPACE } from './server/engine.ts';
import type { Round } from './scenarios/scenario.ts';
import type { Stage } from './scenarios/stage.ts';
import { short, table } from './report/table.ts';

const run = promisify(execFile);

/** Beyond this the two do not agree. */
const MOST_DIFFERENCE = 0.1;
/** For its start and its end, besides warm-up and window. */
const BESIDES_SECONDS = 60;
const PROTO = '@temporalio/proto';

/** What both measure, for each workflow unless a rate. */
export type Measured = Readonly<
  Record<
    | 'workflows/s'
    | 'engine CPU ms'
    | 'PostgreSQL CPU ms'
    | 'WAL KB'
    | 'writing tx'
    | 'outside cores',
    number
  >
>;
/** Figures of the machine, shown and not compared. */
const SHOWN: readonly string[] = ['outside cores'];

export type Pair = {
  readonly ours: Measured;
  readonly theirs: Measured;
  /** Nothing failed, and others left the machine alone in both. */
  readonly counts: boolean;
};

/** A round of ours beside theirs. */
export function pairOf(round: Round, theirs: Measured): Pair {
  const quiet = theirs['outside cores'] <= MOST_OUTSIDE_CORES;
  return { ours: measuredBy(round), theirs, counts: quiet && objectionsTo(round).length === 0 };
}

/** As much as we read of what thin-bench prints. */
type Printed = {
  readonly workflowsPerSecond: number;
  readonly cost: {
    readonly outsideCores: number;
    readonly perUnit: Readonly<
      Record<'serverCpuMs' | 'postgresCpuMs' | 'walBytes' | 'writeCommits', number>
    >;
  };
};

/** A copy of thin-bench that can run: with the one package that it needs. */
export function copyThinBench(folder: string, into: string): string {
  if (!existsSync(join(folder, 'bench.mjs'))) {
    throw new Error(`--against ${folder}: there is no bench.mjs in it`);
  }
  const copy = join(into, 'thin-bench');
  const own = join(folder, 'node_modules');
  cpSync(folder, copy, { recursive: true, filter: (path) => !path.startsWith(own) });
  symlinkSync(existsSync(own) ? own : ourPackages(), join(copy, 'node_modules'));
  return copy;
}

function ourPackages(): string {
  const entry = createRequire(import.meta.url).resolve(PROTO);
  return entry.slice(0, entry.lastIndexOf(PROTO) - 1);
}

/** One run of it, of the same length, on the same engine. */
export async function runThinBench(
  stage: Stage,
  where: { readonly folder: string; readonly args: readonly string[] },
  postgres: { readonly pid: () => number; readonly url: (database: string) => string },
): Promise<Measured> {
  const { engine, settings } = stage;
  const { seconds, warmupSeconds } = settings;
  const { stdout } = await run(
    process.execPath,
    [
      join(where.folder, 'bench.mjs'),
      ...where.args,
      ...['--address', engine.address, '--namespace', NAMESPACE],
      ...['--warmup', String(warmupSeconds), '--duration', String(seconds)],
      ...['--pids', `${engine.routerPid},${engine.cellPid}`],
      ...['--postmaster', String(postgres.pid()), '--pg', postgres.url('postgres')],
    ],
    { timeout: (warmupSeconds + seconds + BESIDES_SECONDS) * 1000 },
  );
  const { workflowsPerSecond, cost } = JSON.parse(stdout) as Printed;
  return {
    'workflows/s': workflowsPerSecond,
    'engine CPU ms': cost.perUnit.serverCpuMs,
    'PostgreSQL CPU ms': cost.perUnit.postgresCpuMs,
    'WAL KB': cost.perUnit.walBytes / 1000,
    'writing tx': cost.perUnit.writeCommits,
    'outside cores': cost.outsideCores,
  };
}

/** The same of a round of ours. */
function measuredBy({ costs, workflows = Number.NaN }: Round): Measured {
  const [cost] = costs;
  const { router, cell, postgres } = cost?.cpuSeconds ?? {};
  const each = (total: number | undefined) => (total ?? Number.NaN) / workflows;
  return {
    'workflows/s': workflows / (cost?.seconds ?? Number.NaN),
    'engine CPU ms': (each(router) + each(cell)) * 1000,
    'PostgreSQL CPU ms': each(postgres) * 1000,
    'WAL KB': each(cost?.walBytes) / 1000,
    'writing tx': each(cost?.writeTransactions),
    'outside cores': cost?.outsideCores ?? Number.NaN,
  };
}

/** Medians of the pairs that count, side by side, and whether they agree. */
export function agreement(name: string, pairs: readonly Pair[]): readonly string[] {
  const counting = pairs.filter(({ counts }) => counts);
  const used = counting.length > 0 ? counting : pairs;
  const keys = Object.keys(used[0]?.ours ?? {}) as (keyof Measured)[];
  const rows = keys.map((key) => {
    const ours = median(used.map((pair) => pair.ours[key]));
    const theirs = median(used.map((pair) => pair.theirs[key]));
    if (SHOWN.includes(key)) return [key, short(ours), short(theirs), '', ''];
    const difference = ours / theirs - 1;
    const agree = Math.abs(difference) <= MOST_DIFFERENCE ? 'agree' : 'DIFFER';
    const percent = `${(100 * difference).toFixed(1)} %`;
    return [
      key,
      short(ours),
      short(theirs),
      percent,
      counting.length > 0 ? agree : 'does not count',
    ];
  });
  const columns = [
    { title: name, align: 'left' },
    { title: 'bench', align: 'right' },
    { title: 'thin-bench', align: 'right' },
    { title: 'difference', align: 'right' },
    { title: '', align: 'left' },
  ] as const;
  return table(columns, rows);
}
