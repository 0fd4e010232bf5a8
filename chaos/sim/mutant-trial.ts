/**
 * One mutant in a copy of the tree: applied, run on seeds, and thrown away (mutants.ts says which, and what it means).
 *
 * Invariants
 *  1. In a fleet a seed catches by broken promises alone: a shard that stopped, or a call that threw, shows that something
 *     broke, not that a checker would have seen it. In one cell the shard's own invariants count, too.
 *  2. A seed that breaks a promise without the patch, too, shows nothing of the patch.
 */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isPromise } from './campaign.ts';
import type { WorldKind } from './world-kind.ts';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '..', '..');
export const PATCHES = join(HERE, 'mutants');
/** What a world runs on. */
export const COPIED = [
  'kernel',
  'wire',
  'fleet',
  'cell',
  'replication',
  'admin',
  'chaos/command-line.ts',
  'chaos/sim',
  'tsconfig.json',
  'package.json',
];
const RUN_MS = 45 * 60_000;

export type Trial =
  | { readonly kind: 'caught'; readonly seed: number; readonly by: string }
  /** `unfit`: seeds that broke otherwise than by promises alone, or without the patch, too. */
  | { readonly kind: 'missed'; readonly unfit: number }
  | { readonly kind: 'broken'; readonly why: string };

type Failure = { readonly seed: number; readonly breaches: readonly string[] };

export class MutantTrial {
  readonly #name: string;
  readonly #kind: WorldKind;
  readonly #copy: string;

  constructor(name: string, kind: WorldKind) {
    this.#name = name;
    this.#kind = kind;
    this.#copy = mkdtempSync(join(tmpdir(), 'atoll-mutant-'));
    for (const path of COPIED)
      cpSync(join(ROOT, path), join(this.#copy, path), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(this.#copy, 'node_modules'));
  }

  end(): void {
    rmSync(this.#copy, { recursive: true, force: true });
  }

  /** Returns why the patch does not apply; undefined when it does. */
  apply(): string | undefined {
    try {
      // Outside any repository, or git would look for the paths there and apply nothing.
      const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(this.#copy) };
      const patch = join(PATCHES, `${this.#name}.patch`);
      execFileSync('git', ['apply', patch], { cwd: this.#copy, env, stdio: 'pipe' });
      return undefined;
    } catch (error) {
      return `the patch does not apply: ${String(error)}`;
    }
  }

  /** Runs seeds until one catches. */
  async run(from: number, seeds: number): Promise<Trial> {
    let unfit = 0;
    for (let next = from; next < from + seeds;) {
      const failures = await this.#failures(next, from + seeds - next);
      if ('why' in failures) return { kind: 'broken', why: failures.why };
      const last = failures.at(-1);
      if (last && this.#catches(last) && (await this.#keepsAll(last.seed))) {
        return { kind: 'caught', seed: last.seed, by: last.breaches[0] ?? '' };
      }
      unfit += failures.length;
      if (!last || !this.#catches(last)) break;
      next = last.seed + 1;
    }
    return { kind: 'missed', unfit };
  }

  #catches({ breaches }: Failure): boolean {
    return this.#kind.catches === 'failure' || breaches.every(isPromise);
  }

  /** Whether the seed breaks nothing without the patch. */
  async #keepsAll(seed: number): Promise<boolean> {
    const { breaches } = await this.#kind.run(seed);
    return breaches.length === 0;
  }

  /** Those of the seeds that broke something, up to the first that broke promises alone. */
  async #failures(
    from: number,
    seeds: number,
  ): Promise<readonly Failure[] | { readonly why: string }> {
    const range = ['--only', '--from', String(from), '--seeds', String(seeds)];
    const args = [
      'chaos/sim/main.ts',
      ...this.#kind.flags,
      ...range,
      `--stop-at-${this.#kind.catches}`,
    ];
    const { stdout, stderr } = await execute(['--import', 'tsx', ...args], this.#copy);
    if (!/^\d+ passed, \d+ failed, \d+ skipped$/m.test(stdout)) {
      return { why: `it did not run: ${stderr.slice(-500)}` };
    }
    return [...stdout.matchAll(/^seed (\d+): .*\n((?: {2}\S.*\n)+)/gm)].map(([, seed, said]) => ({
      seed: Number(seed),
      breaches: (said ?? '')
        .trimEnd()
        .split('\n')
        .map((line) => line.trim()),
    }));
  }
}

function execute(
  args: readonly string[],
  cwd: string,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd, timeout: RUN_MS });
    const said = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => (said.stdout += String(chunk)));
    child.stderr.on('data', (chunk) => (said.stderr += String(chunk)));
    child.on('error', (error) => (said.stderr += error.message));
    child.on('close', () => resolve(said));
  });
}
