/**
 * Many seeds of one kind of world, their counts added up; and one seed with its whole trace.
 *
 * Invariants
 *  1. A campaign of 200 seeds or more in which a fault was never injected, a move never came to one of its ends, or a
 *     checker never had a case, has failed.
 *  2. Seeds that once showed a bug go first.
 *  3. The last line says `N passed, N failed, N skipped`; lines that begin with ✗ before it name what failed.
 */
import { runForked } from './forked.ts';
import { Tally } from './tally.ts';
import type { SeedRun, WorldKind } from './world-kind.ts';

export type CampaignOptions = {
  readonly from: number;
  readonly seeds: number;
  /** Also the seeds that once showed a bug, before the others. */
  readonly known: boolean;
  /** Processes that share the seeds; with one, they run in this process. */
  readonly jobs: number;
  /** Ends the campaign early: at the first seed that broke something, or that broke nothing but promises. */
  readonly stopAt?: 'failure' | 'promise' | undefined;
  readonly print: (line: string) => void;
};

const FULL_CAMPAIGN = 200;
const PROGRESS_EVERY = 100;
const BREACHES_SHOWN = 5;
const FAILURES_NAMED = 20;

export async function runCampaign(kind: WorldKind, options: CampaignOptions): Promise<boolean> {
  const { print, jobs } = options;
  const sums = kind.tables.map((table) => ({ ...table, tally: new Tally(table.names) }));
  const plan = planOf(kind, options);
  const counts = { done: 0, failed: 0, cpuMs: 0 };
  const named: string[] = [];
  const runs = jobs > 1 ? runForked(kind, plan, jobs) : runHere(kind, plan);
  for await (const run of runs) {
    for (const [i, { names, tally }] of sums.entries()) {
      for (const name of names) tally.add(name, run.counts[i]?.get(name) ?? 0);
    }
    counts.done += 1;
    counts.cpuMs += run.cpuMs;
    if (run.breaches.length > 0) {
      counts.failed += 1;
      report(kind, run, print);
      named.push(`✗ ${replayOf(kind, run.seed)}: ${firstLine(run.breaches)}`);
      if (options.stopAt === 'failure') break;
      if (options.stopAt === 'promise' && run.breaches.every(isPromise)) break;
    }
    if (counts.done % PROGRESS_EVERY === 0) {
      print(`${counts.done} of ${plan.length} seeds, ${counts.failed} failed`);
    }
  }
  const { done, failed, cpuMs } = counts;
  for (const { title, tally } of sums) print(tally.table(title));
  print(`${(cpuMs / 1_000 / Math.max(1, done)).toFixed(3)} s CPU a seed`);
  const missing = done >= FULL_CAMPAIGN ? sums.flatMap(({ tally }) => tally.missing) : [];
  for (const line of named.slice(0, FAILURES_NAMED)) print(line);
  for (const name of missing) print(`✗ NEVER: ${name}`);
  const failures = failed + missing.length;
  print(`${done - failed} passed, ${failures} failed, 0 skipped`);
  return failures === 0;
}

/** One seed with its whole trace. */
export async function replay(
  kind: WorldKind,
  seed: number,
  print: (line: string) => void,
): Promise<boolean> {
  const result = await kind.run(seed, print);
  for (const breach of result.breaches) print(`BROKEN ${breach}`);
  print(`trace ${result.traceHash}, ${result.events} events`);
  const passed = result.breaches.length === 0;
  print(passed ? '1 passed, 0 failed, 0 skipped' : '0 passed, 1 failed, 0 skipped');
  return passed;
}

/** Whether a checker said it: of a promise (P1..P13), or of a decision that holds. A crash is neither. */
export function isPromise(breach: string): boolean {
  return /^[PD]\d+: /.test(breach);
}

/** One seed, and the CPU time that it took. A world that throws has broken something, and the others go on. */
export async function measured(kind: WorldKind, seed: number): Promise<SeedRun> {
  const begun = process.cpuUsage();
  const run = await kind.run(seed).catch((error: unknown) => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const breaches = [`the world threw: ${why}`];
    return { seed, breaches, excerpt: [], traceHash: '', events: 0, counts: [] };
  });
  const { user, system } = process.cpuUsage(begun);
  return { ...run, cpuMs: (user + system) / 1_000 };
}

function planOf(kind: WorldKind, { from, seeds, known }: CampaignOptions): readonly number[] {
  const range = Array.from({ length: seeds }, (_, index) => from + index);
  return [...new Set(known ? [...kind.known(), ...range] : range)];
}

async function* runHere(kind: WorldKind, plan: readonly number[]): AsyncGenerator<SeedRun> {
  for (const seed of plan) yield await measured(kind, seed);
}

function replayOf(kind: WorldKind, seed: number): string {
  return `npm run sim -- ${[...kind.flags, '--seed', seed].join(' ')}`;
}

function firstLine(breaches: readonly string[]): string {
  return (breaches[0] ?? '').split('\n')[0] ?? '';
}

function report(kind: WorldKind, run: SeedRun, print: (line: string) => void): void {
  const { seed, breaches, excerpt } = run;
  print(`seed ${seed}: ${breaches.length} broken, replay with: ${replayOf(kind, seed)}`);
  for (const breach of breaches.slice(0, BREACHES_SHOWN)) print(`  ${breach}`);
  for (const line of excerpt) print(`    ${line}`);
}
