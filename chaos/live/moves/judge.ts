/** What must hold after a case, and at the end: pure. */
import type { FailedCall } from './load.ts';
import { allowedEndings, mayFailCalls, type Ending, type MoveCase } from './cases.ts';

/** From a kill until the process serves again, ms since 1970. */
export type Away = { readonly from: number; readonly to: number };

/** How the namespace stands, by the fleet map. */
export type Standing = {
  readonly active: string;
  readonly epoch: number;
  readonly placement: string;
  readonly replicas: readonly string[];
};

/** What a case came to. */
export type Outcome = {
  readonly of: MoveCase;
  readonly before: Standing;
  readonly after: Standing;
  /** `to` of the move. */
  readonly target: string;
  readonly failed: readonly FailedCall[];
  readonly away: Away | undefined;
};

/** A router notices that a cell is back by its next call; what is already backing off follows. */
const GRACE_MS = 3_000;

/** How it ended; undefined: neither as it was nor moved. */
export function endingOf({ before, after, target }: Outcome): Ending | undefined {
  if (after.placement !== 'active') return undefined;
  if (String(before.replicas) !== String(after.replicas)) return undefined;
  if (after.active === before.active && after.epoch === before.epoch) return 'as it was';
  return after.active === target && after.epoch === before.epoch + 1 ? 'moved' : undefined;
}

/** What is wrong with it, a sentence each. */
export function findingsOf(outcome: Outcome): readonly string[] {
  const { of, failed, after } = outcome;
  const ending = endingOf(outcome);
  const findings: string[] = [];
  if (ending === undefined) findings.push(`it ended as neither: ${JSON.stringify(after)}`);
  else if (!allowedEndings(of).includes(ending)) findings.push(`it ended ${ending}`);
  for (const call of failed.filter((one) => !isExcused(one, outcome))) {
    findings.push(`a call failed: ${call.what}, ${call.why}`);
  }
  return findings;
}

/** Only while the cell that serves the namespace is away. */
function isExcused({ from, to }: FailedCall, { of, away }: Outcome): boolean {
  if (away === undefined || !mayFailCalls(of)) return false;
  return to >= away.from && from <= away.to + GRACE_MS;
}

/** Tokens whose activity, of one attempt, ran more than once. */
export function ranTwice(runs: ReadonlyMap<string, number>): readonly string[] {
  return [...runs].filter(([, count]) => count > 1).map(([token]) => token);
}
