/**
 * Holds what the engine acknowledged against what it has, and against its loss report. Pure.
 *
 * Invariants
 *  1. An acknowledged write that is neither there nor in an execution of the loss report is unexplained.
 *  2. A signal that is there twice is a fault, too: what is applied again is applied once.
 */
import type { LossReport } from '../../replication/losses/loss-report.ts';
import type { Acknowledged } from './load.ts';

/** What the engine has of a run: the tokens in its history, in order; undefined: it does not know the run. */
export type ReadRun = { readonly runId: string; readonly tokens: readonly string[] | undefined };

/** Acknowledged writes that the engine does not have. */
export function missingOf(
  log: readonly Acknowledged[],
  read: readonly ReadRun[],
): readonly Acknowledged[] {
  const known = new Map(read.map(({ runId, tokens }) => [runId, tokens]));
  return log.filter(({ what, runId, token = '' }) => {
    const tokens = known.get(runId);
    return tokens === undefined || (what === 'signal' && !tokens.includes(token));
  });
}

/** Those among them that the loss report does not speak of. */
export function unexplained(
  missing: readonly Acknowledged[],
  { executions }: Pick<LossReport, 'executions'>,
): readonly Acknowledged[] {
  const reported = new Set(executions.map(({ runId }) => runId));
  return missing.filter(({ runId }) => !reported.has(runId));
}

/** Tokens that a history holds more than once. */
export function doubled(read: readonly ReadRun[]): readonly string[] {
  return read.flatMap(({ tokens = [] }) =>
    tokens.filter((token, i) => tokens.indexOf(token) !== i),
  );
}

/** From the oldest missing write to the loss of the cell, ms; 0 when nothing is missing. */
export function lostSpanMs(missing: readonly Acknowledged[], killedAt: number): number {
  return Math.max(0, ...missing.map(({ at }) => killedAt - at));
}
