/**
 * The plan of a torture phase, pure: which kill follows which.
 *
 * Place: made once a phase from a seed, carried out by phase.ts.
 *
 * Invariants
 *  1. Each step of an owner occurs `stepKills` times, and so does takeover, spread over its three moments.
 *  2. A takeover is killed in a round in which the owner is killed anyway: it has to take over then.
 */
import { STEPS, type Step } from './step.ts';

export type Round =
  | {
      readonly kind: 'step';
      readonly step: Step;
      /** Kill the takeover that follows, at this moment. */
      readonly takeover?: Step;
    }
  | { readonly kind: 'database' };

export type PlanSize = { readonly stepKills: number; readonly databaseKills: number };

/** Plans the rounds of one phase, in an order that the seed decides. */
export function planRounds({ stepKills, databaseKills }: PlanSize, seed: number): readonly Round[] {
  const moments = STEPS.filter((step) => step.startsWith('takeover'));
  const steps = shuffled(
    STEPS.filter((step) => !step.startsWith('takeover')).flatMap((step) =>
      Array.from({ length: stepKills }, () => step),
    ),
    seed,
  );
  const rounds: readonly Round[] = steps.map((step, index) => {
    const takeover = index < stepKills ? moments[index % moments.length] : undefined;
    return takeover ? { kind: 'step', step, takeover } : { kind: 'step', step };
  });
  const database = Array.from({ length: databaseKills }, (): Round => ({ kind: 'database' }));
  return shuffled([...rounds, ...database], seed + 1);
}

/** Fisher and Yates, with a small linear generator: the plan must not depend on the machine. */
function shuffled<Item>(items: readonly Item[], seed: number): readonly Item[] {
  const left = [...items];
  const mixed: Item[] = [];
  let state = seed >>> 0;
  while (left.length > 0) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    mixed.push(...left.splice(Math.floor((state / 2 ** 32) * left.length), 1));
  }
  return mixed;
}
