/**
 * The kinds of worlds that campaigns run: one cell of several hosts, and a fleet of two cells. What differs between them
 * lies here; the loop over seeds (campaign.ts), its processes (forked.ts) and the mutants (mutants.ts) are shared.
 */
import { readFileSync } from 'node:fs';
import { CHECKS, FAULTS, type Tally } from './tally.ts';
import { FleetWorld } from './fleet/fleet-world.ts';
import { FLEET_ACTS, FLEET_CHECKS, FLEET_FAULTS } from './fleet/tally.ts';
import { World } from './world.ts';

/** What one seed came to. */
export type SeedOutcome = {
  readonly seed: number;
  /** Broken promises, the first one first. */
  readonly breaches: readonly string[];
  /** The last lines of the trace that concern the first breach. */
  readonly excerpt: readonly string[];
  readonly traceHash: string;
  readonly events: number;
  /** In the order of the kind's tables. */
  readonly counts: readonly ReadonlyMap<string, number>[];
};
export type SeedRun = SeedOutcome & { readonly cpuMs: number };

export type WorldKind = {
  readonly name: 'one-cell' | 'fleet';
  /** What asks for it on the command line. */
  readonly flags: readonly string[];
  /** What is counted; each name must come up in a full campaign. */
  readonly tables: readonly { readonly title: string; readonly names: readonly string[] }[];
  /** What catches a mutant: a broken promise, or also an invariant of the product's own that stopped a shard. */
  readonly catches: 'promise' | 'failure';
  /** Seeds that once showed a bug. */
  readonly known: () => readonly number[];
  readonly run: (seed: number, tell?: (line: string) => void) => Promise<SeedOutcome>;
};

export const ONE_CELL: WorldKind = {
  name: 'one-cell',
  flags: [],
  tables: [
    { title: 'faults injected', names: FAULTS },
    { title: 'cases judged', names: CHECKS },
  ],
  catches: 'failure',
  known: () => seedsIn(new URL('seeds.txt', import.meta.url)),
  run: async (seed, tell) => {
    const result = await new World(seed, tell).run();
    return outcomeOf(result, [result.faults, result.checks]);
  },
};

/** What only hosts of one cell among themselves, or a promoted standby, can bring about. */
const OF_ONE_CELL = [
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
];

export const FLEET: WorldKind = {
  name: 'fleet',
  flags: ['--fleet'],
  tables: [
    { title: 'faults of the fleet', names: FLEET_FAULTS },
    { title: 'faults of stores, callers and workers', names: ours(FAULTS) },
    { title: 'what moves came to', names: FLEET_ACTS },
    { title: 'cases judged of the fleet', names: FLEET_CHECKS },
    { title: 'cases judged as in one cell', names: ours(CHECKS) },
  ],
  catches: 'promise',
  known: () => seedsIn(new URL('fleet/seeds.txt', import.meta.url)),
  run: async (seed, tell) => {
    const result = await new FleetWorld(seed, tell).run();
    const { fleetFaults, faults, acts, fleetChecks, checks } = result;
    return outcomeOf(result, [fleetFaults, faults, acts, fleetChecks, checks]);
  },
};

export function kindNamed(name: string): WorldKind {
  return name === FLEET.name ? FLEET : ONE_CELL;
}

function ours(names: readonly string[]): readonly string[] {
  return names.filter((name) => !OF_ONE_CELL.includes(name));
}

function outcomeOf(
  { seed, breaches, excerpt, traceHash, events }: Omit<SeedOutcome, 'counts'>,
  tallies: readonly Tally<string>[],
): SeedOutcome {
  const counts = tallies.map((tally) => tally.counts);
  return { seed, breaches, excerpt, traceHash, events, counts };
}

/** One seed a line, and what it showed behind it. */
function seedsIn(file: URL): readonly number[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /^\d/.test(line))
    .map((line) => Number.parseInt(line, 10));
}
