import { describe, expect, test } from 'vitest';
import type { LossOutcome, LostExecution } from '../../../cell/shard/replicas/loss.ts';
import type { MoveCase } from './cases.ts';
import {
  endingOf,
  findingsOf,
  misreported,
  ranTwice,
  type Outcome,
  type Standing,
} from './judge.ts';

const before: Standing = { active: 'a', epoch: 3, placement: 'active', replicas: ['a', 'b'] };
const flipped: Standing = { ...before, active: 'b', epoch: 4 };
const inHandover: MoveCase = { step: 'handover: lane', action: 'kill source', awayMs: 0 };
const call = (from: number, to: number) => ({ from, to, what: 'signal', why: 'UNAVAILABLE' });

function outcome(part: Partial<Outcome>): Outcome {
  return {
    of: inHandover,
    before,
    after: flipped,
    target: 'b',
    failed: [],
    away: undefined,
    ...part,
  };
}

describe('the judge of kills during moves', () => {
  test.each([
    ['moved', flipped],
    ['as it was', before],
    [undefined, { ...before, placement: 'handover' }],
    [undefined, { ...flipped, epoch: 5 }],
    [undefined, { ...before, replicas: ['a'] }],
  ])('names the ending %s', (ending, after) => {
    expect(endingOf(outcome({ after }))).toBe(ending);
  });

  test('takes a replica that a move had added for as it was, unless the move was aborted', () => {
    const alone = { ...before, replicas: ['a'] };
    const [slow, aborted] = (['kill target', 'abort'] as const).map((action) =>
      outcome({ of: { ...inHandover, action }, before: alone, after: before }),
    );
    expect([slow, aborted].map((one) => one && endingOf(one))).toEqual(['as it was', undefined]);
    expect(endingOf(outcome({ before: alone }))).toBe('moved');
  });

  test('finds an ending that the case does not allow', () => {
    const of: MoveCase = { step: 'seed: lane', action: 'abort', awayMs: 0 };
    expect(findingsOf(outcome({ of }))).toEqual(['it ended moved']);
    expect(findingsOf(outcome({ of, after: before }))).toEqual([]);
  });

  test('excuses calls that failed while the active cell was away, and no others', () => {
    const away = { from: 1_000, to: 2_000 };
    const [early, during, late] = [call(0, 900), call(900, 1_100), call(5_100, 5_200)];
    expect(findingsOf(outcome({ away, failed: [during] }))).toEqual([]);
    expect(findingsOf(outcome({ away, failed: [early, late] }))).toHaveLength(2);
    const of: MoveCase = { ...inHandover, action: 'kill target' };
    expect(findingsOf(outcome({ of, away, failed: [during] }))).toHaveLength(1);
  });

  test('finds an activity of one attempt that ran twice', () => {
    expect(
      ranTwice(
        new Map([
          ['x', 1],
          ['y', 2],
        ]),
      ),
    ).toEqual(['y']);
  });

  test('finds where loss report and client part, both ways', () => {
    const line = (runId: string, token: string) =>
      ({ at: 0, what: 'signal', workflowId: `w-${runId}`, runId, token }) as const;
    const lost = (runId: string, outcome: LossOutcome): LostExecution => ({
      ...{ workflowId: `w-${runId}`, runId, outcome },
      ...{ transitions: { from: 1, to: 2, epoch: 1 }, rolledBack: [] },
      ...{ reapplied: [], mayHaveRunTwice: [] },
    });
    const log = [line('1', 'x'), line('2', 'y')];
    const undeliverable = lost('1', 'signal-undeliverable');
    const said = (missing: typeof log, ...executions: LostExecution[]) =>
      misreported({ log, missing, report: { executions } }).map((one) => one.split(':')[0]);
    expect(said([line('1', 'x')], undeliverable)).toEqual([]);
    expect(said([line('2', 'y')], lost('1', 'rolled-back'))).toEqual(['missing, not reported']);
    expect(said([], undeliverable)).toEqual(['reported, not missing']);
    expect(said([], lost('1', 'reopened'), lost('9', 'signal-undeliverable'))).toEqual([]);
  });
});
