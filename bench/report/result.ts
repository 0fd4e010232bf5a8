/**
 * From rounds to results: the median of each figure, and whether it may be quoted.
 *
 * Invariants
 *  1. A round with a fault, or with others on the machine, never counts beside rounds that do.
 */
import { median } from '../load/samples.ts';
import { MOST_OUTSIDE_CORES } from '../measure/meter.ts';
import type { Round } from '../scenarios/scenario.ts';
import { FIGURES, figureOf, meets, type FigureName } from './figures.ts';

export type Verdict = 'met' | 'not met' | 'no aim' | 'does not count';

export type Result = {
  readonly name: FigureName;
  readonly value: number;
  readonly verdict: Verdict;
};

/** The most cores that others used in a window of the round. */
export function outsideCoresOf(round: Round): number {
  return Math.max(0, ...round.costs.map(({ outsideCores }) => outsideCores));
}

/** Why the round does not count; empty for one that does. */
export function objectionsTo(round: Round): readonly string[] {
  const outside = outsideCoresOf(round);
  // A NaN is a process that vanished: that does not count either.
  const quiet = outside <= MOST_OUTSIDE_CORES;
  return [...round.faults, ...(quiet ? [] : [`others used ${outside.toFixed(2)} cores`])];
}

/** The results of one scenario's rounds, in the order of the table. */
export function resultsOf(rounds: readonly Round[]): readonly Result[] {
  const counting = rounds.filter((round) => objectionsTo(round).length === 0);
  const used = counting.length > 0 ? counting : rounds;
  return (Object.keys(FIGURES) as FigureName[]).flatMap((name) => {
    const values = used.map(({ figures }) => figures[name]).filter((value) => value !== undefined);
    if (values.length === 0) return [];
    const value = median(values);
    return [{ name, value, verdict: verdictOf(name, value, counting.length > 0) }];
  });
}

function verdictOf(name: FigureName, value: number, counts: boolean): Verdict {
  if (!counts || !Number.isFinite(value)) return 'does not count';
  const { aim } = figureOf(name);
  if (aim === undefined) return 'no aim';
  return meets(aim, value) ? 'met' : 'not met';
}
