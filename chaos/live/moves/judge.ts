/** What must hold after a case, and at the end: pure. */
import type { LossReport } from '../../../replication/losses/loss-report.ts';
import { unexplained } from '../../gameday/judge.ts';
import type { Acknowledged } from '../../gameday/load.ts';
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
export function endingOf({ of, before, after, target }: Outcome): Ending | undefined {
  if (after.placement !== 'active') return undefined;
  const [was, is] = [before, after].map(({ replicas }) => String(replicas.toSorted()));
  const withTarget = String([...new Set([...before.replicas, target])].toSorted());
  if (after.active === before.active && after.epoch === before.epoch) {
    // After a handover that was too slow the copy stays, so that the next try need not make it again.
    return is === was || (is === withTarget && of.action !== 'abort') ? 'as it was' : undefined;
  }
  const moved = after.active === target && after.epoch === before.epoch + 1;
  return moved && is === withTarget ? 'moved' : undefined;
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

/**
 * Where loss report and client's log part, both ways: what is missing of an execution that the report does not name, and
 * executions of the log of which the report says that signals were lost, although nothing is missing.
 */
export function misreported(seen: {
  readonly log: readonly Acknowledged[];
  readonly missing: readonly Acknowledged[];
  readonly report: Pick<LossReport, 'executions'>;
}): readonly string[] {
  const { log, missing, report } = seen;
  const ofLog = new Set(log.map(({ runId }) => runId));
  const missed = new Set(missing.map(({ runId }) => runId));
  const lost = report.executions.filter(
    ({ outcome, runId }) => outcome === 'signal-undeliverable' && ofLog.has(runId),
  );
  return [
    ...unexplained(missing, report).map((line) => `missing, not reported: ${JSON.stringify(line)}`),
    ...lost
      .filter(({ runId }) => !missed.has(runId))
      .map((one) => `reported, not missing: ${JSON.stringify(one)}`),
  ];
}

/** Tokens whose activity, of one attempt, ran more than once. */
export function ranTwice(runs: ReadonlyMap<string, number>): readonly string[] {
  return [...runs].filter(([, count]) => count > 1).map(([token]) => token);
}
