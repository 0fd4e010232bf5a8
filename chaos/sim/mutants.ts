/**
 * The mutants: each is a patch that breaks one rule of the protocols, applied to a copy of the tree, which the simulator
 * must catch. Shipped code has no switch for any of them. Those of `mutants/fleet` break what holds between cells.
 *
 * Invariants
 *  1. A patch that does not apply, or whose copy does not run, has failed: it shows nothing.
 *  2. None is skipped: a rule that another one masks is taken out together with that one, as its patch says.
 *  3. A seed catches only if it breaks nothing without the patch.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MutantTrial, PATCHES, type Trial } from './mutant-trial.ts';
import { FLEET, ONE_CELL, type WorldKind } from './world-kind.ts';

const HERE = dirname(fileURLToPath(import.meta.url));
const RECORDED = join(HERE, 'mutants', 'seeds.json');
/** Where fresh seeds begin: far from those that anybody recorded. */
const FRESH_FROM = 500_001;
/** Seeds that a mutant is given where nobody says how many. */
const ALL_SEEDS = { 'one-cell': 2_000, fleet: 600 };

/** What is known of a mutant: the seed that caught it. */
type Recorded = { readonly seed?: number };

export type MutantOptions = {
  /** Seeds beside the recorded one; undefined: as many as it takes, up to ALL_SEEDS. */
  readonly fresh: number | undefined;
  /** Only these, by name. */
  readonly only: readonly string[];
  /** Writes down the seeds that caught. */
  readonly record: boolean;
  /** How many at the same time. */
  readonly jobs: number;
  readonly print: (line: string) => void;
};

export async function runMutants(options: MutantOptions): Promise<boolean> {
  const { only, print, record } = options;
  const all = [...patchesIn(''), ...patchesIn('fleet/')];
  const unknown = only.find((name) => !all.includes(name));
  if (unknown !== undefined) {
    print(`There is no mutant ${unknown}: there are ${all.join(', ')}.`);
    return false;
  }
  const names = all.filter((name) => only.length === 0 || only.includes(name));
  const failed: string[] = [];
  let passed = 0;
  const waiting = names.values();
  const lane = async () => {
    for (const name of waiting) {
      const trial = await tryMutant(name, options);
      const line = describe(name, trial);
      print(line);
      if (trial.kind !== 'caught') failed.push(`✗ ${line}`);
      else {
        passed += 1;
        if (record) remember(name, trial.seed);
      }
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, lane));
  for (const line of failed) print(line);
  print(`${passed} passed, ${failed.length} failed, 0 skipped`);
  return failed.length === 0 && names.length > 0;
}

function patchesIn(folder: '' | 'fleet/'): readonly string[] {
  return readdirSync(join(PATCHES, folder))
    .filter((name) => name.endsWith('.patch'))
    .map((name) => `${folder}${name.slice(0, -'.patch'.length)}`);
}

function kindOf(name: string): WorldKind {
  return name.startsWith('fleet/') ? FLEET : ONE_CELL;
}

async function tryMutant(name: string, { fresh }: MutantOptions): Promise<Trial> {
  const kind = kindOf(name);
  const { seed } = readRecorded()[name] ?? {};
  const trial = new MutantTrial(name, kind);
  try {
    const why = trial.apply();
    if (why !== undefined) return { kind: 'broken', why };
    if (seed !== undefined) {
      const again = await trial.run(seed, 1);
      if (again.kind !== 'missed') return again;
    }
    return await (fresh === undefined
      ? trial.run(1, ALL_SEEDS[kind.name])
      : trial.run(FRESH_FROM, fresh));
  } finally {
    trial.end();
  }
}

function readRecorded(): Readonly<Record<string, Recorded>> {
  return JSON.parse(readFileSync(RECORDED, 'utf8')) as Record<string, Recorded>;
}

function remember(name: string, seed: number): void {
  const all = Object.entries({ ...readRecorded(), [name]: { seed } });
  const sorted = Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(RECORDED, `${JSON.stringify(sorted, null, 2)}\n`);
}

function describe(name: string, trial: Trial): string {
  switch (trial.kind) {
    case 'caught':
      return `caught   ${name} by seed ${trial.seed}: ${trial.by}`;
    case 'missed':
      return `MISSED   ${name}: no seed caught it${trial.unfit === 0 ? '' : ` (${trial.unfit} broke without a promise, or without the patch)`}`;
    case 'broken':
      return `BROKEN   ${name}: ${trial.why}`;
  }
}
