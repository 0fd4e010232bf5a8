/**
 * The mutants: each is a patch that breaks one rule of the protocols, applied to a copy of the tree, which the simulator
 * must catch. Shipped code has no switch for any of them.
 *
 * Invariants
 *  1. A patch that does not apply, or whose copy does not run, has failed: it shows nothing.
 *  2. None is skipped: a rule that another one masks is taken out together with that one, as its patch says.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '..', '..');
const PATCHES = join(HERE, 'mutants');
const RECORDED = join(PATCHES, 'seeds.json');
const COPIED = [
  'kernel',
  'wire',
  'fleet',
  'cell',
  'replication',
  'admin',
  'chaos/sim',
  'tsconfig.json',
  'package.json',
];
const ALL_SEEDS = 2_000;
/** Where fresh seeds begin: far from those that anybody recorded. */
const FRESH_FROM = 500_001;
const RUN_MS = 45 * 60_000;

/** What is known of a mutant: the seed that caught it. */
type Recorded = { readonly seed?: number };

export type MutantOptions = {
  /** Seeds beside the recorded one; undefined = up to 2,000. */
  readonly fresh: number | undefined;
  /** Only these, by name. */
  readonly only: readonly string[];
  /** Writes down the seeds that caught. */
  readonly record: boolean;
  readonly print: (line: string) => void;
};

type Caught =
  | { readonly kind: 'caught'; readonly seed: number; readonly by: string }
  | { readonly kind: 'missed' }
  | { readonly kind: 'broken'; readonly why: string };

export function runMutants(options: MutantOptions): boolean {
  const { only, print, record } = options;
  const recorded = new Map(Object.entries(readRecorded()));
  const names = readdirSync(PATCHES)
    .filter((name) => name.endsWith('.patch'))
    .map((name) => name.slice(0, -'.patch'.length))
    .filter((name) => only.length === 0 || only.includes(name));
  const counts = { passed: 0, failed: 0 };
  for (const name of names) {
    const known = recorded.get(name) ?? {};
    const caught = withCopy((copy) => tryMutant(copy, name, { known, fresh: options.fresh }));
    print(describe(name, caught));
    if (caught.kind === 'caught') {
      counts.passed += 1;
      recorded.set(name, { seed: caught.seed });
    } else counts.failed += 1;
  }
  if (record) writeFileSync(RECORDED, `${JSON.stringify(Object.fromEntries(recorded), null, 2)}\n`);
  print(`${counts.passed} passed, ${counts.failed} failed, 0 skipped`);
  return counts.failed === 0 && names.length > 0;
}

function readRecorded(): Readonly<Record<string, Recorded>> {
  return JSON.parse(readFileSync(RECORDED, 'utf8')) as Record<string, Recorded>;
}

function withCopy<Result>(use: (copy: string) => Result): Result {
  const copy = mkdtempSync(join(tmpdir(), 'atoll-mutant-'));
  try {
    for (const path of COPIED) cpSync(join(ROOT, path), join(copy, path), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    return use(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function tryMutant(
  copy: string,
  name: string,
  how: { readonly known: Recorded; readonly fresh: number | undefined },
): Caught {
  try {
    // Outside any repository, or git would look for the paths there and apply nothing.
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(copy) };
    execFileSync('git', ['apply', join(PATCHES, `${name}.patch`)], {
      cwd: copy,
      env,
      stdio: 'pipe',
    });
  } catch (error) {
    return { kind: 'broken', why: `the patch does not apply: ${String(error)}` };
  }
  const { known, fresh } = how;
  if (known.seed !== undefined) {
    const again = runSeeds(copy, known.seed, 1);
    if (again.kind !== 'missed') return again;
  }
  if (fresh === undefined) return runSeeds(copy, 1, ALL_SEEDS);
  return runSeeds(copy, FRESH_FROM, fresh);
}

function runSeeds(copy: string, from: number, seeds: number): Caught {
  const args = ['--import', 'tsx', 'chaos/sim/main.ts'];
  const range = ['--from', String(from), '--seeds', String(seeds), '--stop-at-failure'];
  const { stdout, stderr } = spawnSync(process.execPath, [...args, ...range], {
    cwd: copy,
    encoding: 'utf8',
    timeout: RUN_MS,
    maxBuffer: 64 << 20,
  });
  const counted = /^(\d+) passed, (\d+) failed, \d+ skipped$/m.exec(stdout);
  if (!counted) return { kind: 'broken', why: `it did not run: ${stderr.slice(-500)}` };
  const failed = /^seed (\d+): .*\n {2}(.*)$/m.exec(stdout);
  if (!failed) return { kind: 'missed' };
  return { kind: 'caught', seed: Number(failed[1]), by: failed[2] ?? '' };
}

function describe(name: string, caught: Caught): string {
  switch (caught.kind) {
    case 'caught':
      return `caught   ${name} by seed ${caught.seed}: ${caught.by}`;
    case 'missed':
      return `MISSED   ${name}: no seed caught it`;
    case 'broken':
      return `BROKEN   ${name}: ${caught.why}`;
  }
}
