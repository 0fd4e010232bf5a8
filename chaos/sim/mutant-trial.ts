/**
 * One mutant in a copy of the tree: applied, run on seeds, and thrown away (mutants.ts says which, and what it means).
 *
 * Invariants
 *  1. A seed catches by a broken promise alone: a shard that stopped, or a call that threw, shows that something broke,
 *     not that a checker would have seen it.
 *  2. A seed that breaks a promise without the patch, too, shows nothing of the patch.
 */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WorldKind } from './world-kind.ts';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '..', '..');
export const PATCHES = join(HERE, 'mutants');
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
const RUN_MS = 45 * 60_000;
/** What a checker says begins with the promise (P1..P13), or with the decision that it holds. */
const PROMISE = /^[PD]\d+: /;

export type Trial =
  | { readonly kind: 'caught'; readonly seed: number; readonly by: string }
  /** `unfit`: seeds that broke otherwise than by a promise, or without the patch, too. */
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
      const failed = await this.#firstFailure(next, from + seeds - next);
      if (failed === undefined) break;
      if ('why' in failed) return { kind: 'broken', why: failed.why };
      const { seed, breaches } = failed;
      if (breaches.every((breach) => PROMISE.test(breach)) && (await this.#keepsAll(seed))) {
        return { kind: 'caught', seed, by: breaches[0] ?? '' };
      }
      unfit += 1;
      next = seed + 1;
    }
    return { kind: 'missed', unfit };
  }

  /** Whether the seed breaks nothing without the patch. */
  async #keepsAll(seed: number): Promise<boolean> {
    const { breaches } = await this.#kind.run(seed);
    return breaches.length === 0;
  }

  async #firstFailure(
    from: number,
    seeds: number,
  ): Promise<Failure | { readonly why: string } | undefined> {
    const range = ['--only', '--from', String(from), '--seeds', String(seeds)];
    const args = ['chaos/sim/main.ts', ...this.#kind.flags, ...range, '--stop-at-failure'];
    const { stdout, stderr } = await execute(['--import', 'tsx', ...args], this.#copy);
    if (!/^\d+ passed, \d+ failed, \d+ skipped$/m.test(stdout)) {
      return { why: `it did not run: ${stderr.slice(-500)}` };
    }
    const failed = /^seed (\d+): .*\n((?: {2}\S.*\n)+)/m.exec(stdout);
    if (!failed) return undefined;
    const breaches = (failed[2] ?? '').trimEnd().split('\n');
    return { seed: Number(failed[1]), breaches: breaches.map((line) => line.trim()) };
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
