/**
 * Seeds shared among processes: each asks for one seed at a time, so that slow seeds hold up nobody.
 *
 * Invariants
 *  1. Every seed of the plan is run once; results come in the order in which they are ready.
 *  2. No process outlives the iteration. One that dies ends the campaign: its seed would be missing.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { SeedRun, WorldKind } from './world-kind.ts';

const PROGRAM = fileURLToPath(new URL('./seeds-main.ts', import.meta.url));

type Told =
  | { readonly kind: 'ran'; readonly by: ChildProcess; readonly run: SeedRun }
  | { readonly kind: 'died'; readonly why: string };

export async function* runForked(
  { name }: WorldKind,
  plan: readonly number[],
  jobs: number,
): AsyncGenerator<SeedRun> {
  const told: Told[] = [];
  let wake = () => {};
  const tell = (one: Told) => {
    told.push(one);
    wake();
  };
  const children = Array.from({ length: Math.min(jobs, plan.length) }, () => {
    const child = fork(PROGRAM, [name], { serialization: 'advanced' });
    child.on('message', (run) => tell({ kind: 'ran', by: child, run: run as SeedRun }));
    child.on('exit', (code) => tell({ kind: 'died', why: `a process ended with ${code}` }));
    return child;
  });
  try {
    const left = plan.values();
    const next = (child: ChildProcess) => {
      const { value } = left.next();
      if (value !== undefined) child.send(value);
    };
    for (const child of children) next(child);
    for (let done = 0; done < plan.length;) {
      const one = told.shift();
      if (one === undefined) {
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      if (one.kind === 'died') throw new Error(one.why);
      next(one.by);
      done += 1;
      yield one.run;
    }
  } finally {
    for (const child of children) child.kill();
  }
}
