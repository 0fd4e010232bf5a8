/**
 * Many seeds one after the other, their counts added up.
 *
 * Invariants
 *  1. A campaign of 200 seeds or more in which a fault was never injected, or a checker never had a case, has failed.
 *  2. The last line says `N passed, N failed, N skipped`.
 */
import { CHECKS, FAULTS, Tally } from './tally.ts';
import { World, type SeedResult } from './world.ts';

export type CampaignOptions = {
  readonly from: number;
  readonly seeds: number;
  readonly stopAtFailure: boolean;
  readonly print: (line: string) => void;
};

const FULL_CAMPAIGN = 200;
const PROGRESS_EVERY = 100;

export async function runCampaign(options: CampaignOptions): Promise<boolean> {
  const { from, seeds, print } = options;
  const faults = new Tally(FAULTS);
  const checks = new Tally(CHECKS);
  let failed = 0;
  let done = 0;
  const begun = process.cpuUsage();
  for (let seed = from; seed < from + seeds; seed += 1) {
    const result = await new World(seed).run();
    faults.addAll(result.faults);
    checks.addAll(result.checks);
    done += 1;
    if (result.breaches.length > 0) {
      failed += 1;
      report(result, print);
      if (options.stopAtFailure) break;
    }
    if (done % PROGRESS_EVERY === 0) print(`${done} of ${seeds} seeds, ${failed} failed`);
  }
  print(faults.table('faults injected'));
  print(checks.table('cases judged'));
  const { user, system } = process.cpuUsage(begun);
  print(`${((user + system) / 1e6 / Math.max(1, done)).toFixed(3)} s CPU a seed`);
  const missing = done >= FULL_CAMPAIGN ? [...faults.missing, ...checks.missing] : [];
  for (const name of missing) print(`NEVER: ${name}`);
  const failures = failed + missing.length;
  print(`${done - failed} passed, ${failures} failed, 0 skipped`);
  return failures === 0;
}

function report(result: SeedResult, print: (line: string) => void): void {
  const { seed, breaches, excerpt } = result;
  print(`seed ${seed}: ${breaches.length} broken, replay with: npm run sim -- --seed ${seed}`);
  for (const breach of breaches.slice(0, 5)) print(`  ${breach}`);
  for (const line of excerpt) print(`    ${line}`);
}
