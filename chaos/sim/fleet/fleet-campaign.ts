/**
 * Many seeds of the fleet one after the other, their counts added up.
 *
 * Invariants
 *  1. A campaign of 200 seeds or more in which a fault was never injected, a move never came to one of its ends, or a
 *     checker never had a case, has failed.
 *  2. The last line says `N passed, N failed, N skipped`.
 */
import type { CampaignOptions } from '../campaign.ts';
import { CHECKS, FAULTS, Tally, type Check, type Fault } from '../tally.ts';
import { FleetWorld, type FleetResult } from './fleet-world.ts';
import { FLEET_ACTS, FLEET_CHECKS, FLEET_FAULTS } from './tally.ts';

const FULL_CAMPAIGN = 200;
const PROGRESS_EVERY = 50;

/** What only hosts of one cell among themselves, or a promoted standby, can bring about. */
const OF_ONE_CELL: ReadonlySet<Fault | Check> = new Set<Fault | Check>([
  'owner crash',
  'takeover',
  'takeover held up',
  'zombie past checkpoint and truncation',
  'append unheard, then taken over',
  'store slow',
  'store failing',
  'standby promoted without its tail',
  'clock jump',
  'pollers late at a host',
  'P2 log rows',
  'P2 takeovers',
  'P13 not found',
  'holes stopped',
]);

export async function runFleetCampaign(options: CampaignOptions): Promise<boolean> {
  const { from, seeds, print } = options;
  const faults = new Tally(FAULTS);
  const checks = new Tally(CHECKS);
  const fleetFaults = new Tally(FLEET_FAULTS);
  const acts = new Tally(FLEET_ACTS);
  const fleetChecks = new Tally(FLEET_CHECKS);
  let failed = 0;
  let done = 0;
  const begun = process.cpuUsage();
  for (let seed = from; seed < from + seeds; seed += 1) {
    const result = await new FleetWorld(seed).run();
    faults.addAll(result.faults);
    checks.addAll(result.checks);
    fleetFaults.addAll(result.fleetFaults);
    acts.addAll(result.acts);
    fleetChecks.addAll(result.fleetChecks);
    done += 1;
    if (result.breaches.length > 0) {
      failed += 1;
      report(result, print);
      if (options.stopAtFailure) break;
    }
    if (done % PROGRESS_EVERY === 0) print(`${done} of ${seeds} seeds, ${failed} failed`);
  }
  print(fleetFaults.table('faults of the fleet'));
  print(faults.table('faults of stores, callers and workers'));
  print(acts.table('what moves came to'));
  print(fleetChecks.table('cases judged of the fleet'));
  print(checks.table('cases judged as in one cell'));
  const { user, system } = process.cpuUsage(begun);
  print(`${((user + system) / 1e6 / Math.max(1, done)).toFixed(3)} s CPU a seed`);
  const ours = [...faults.missing, ...checks.missing].filter((name) => !OF_ONE_CELL.has(name));
  const never = [...ours, ...fleetFaults.missing, ...acts.missing, ...fleetChecks.missing];
  const missing = done >= FULL_CAMPAIGN ? never : [];
  for (const name of missing) print(`NEVER: ${name}`);
  const failures = failed + missing.length;
  print(`${done - failed} passed, ${failures} failed, 0 skipped`);
  return failures === 0;
}

/** One seed with its whole trace. */
export async function replayFleet(seed: number, print: (line: string) => void): Promise<boolean> {
  const result = await new FleetWorld(seed, print).run();
  for (const breach of result.breaches) print(`BROKEN ${breach}`);
  print(`trace ${result.traceHash}, ${result.events} events`);
  const passed = result.breaches.length === 0;
  print(passed ? '1 passed, 0 failed, 0 skipped' : '0 passed, 1 failed, 0 skipped');
  return passed;
}

function report(result: FleetResult, print: (line: string) => void): void {
  const { seed, breaches, excerpt } = result;
  print(
    `seed ${seed}: ${breaches.length} broken, replay with: npm run sim -- --fleet --seed ${seed}`,
  );
  for (const breach of breaches.slice(0, 5)) print(`  ${breach}`);
  for (const line of excerpt) print(`    ${line}`);
}
