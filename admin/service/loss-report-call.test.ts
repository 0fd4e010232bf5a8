import { describe, expect, it } from 'vitest';
import type { Move } from '../../fleet/move.ts';
import type { LossReport } from '../../replication/losses/loss-report.ts';
import { namespaceOf } from '../../replication/testing/stub-map.ts';
import { keepersOf, mergedReport, type CellReport } from './loss-report-call.ts';

/** `order-1` lost steps 3 to 4 of epoch 1, and so on. */
function lost(workflowId: string): LossReport['executions'][number] {
  const transitions = { from: 3, to: 4, epoch: 1 };
  const names = { rolledBack: [], reapplied: [], mayHaveRunTwice: [] };
  return {
    workflowId,
    runId: `run of ${workflowId}`,
    outcome: 'rolled-back',
    transitions,
    ...names,
  };
}

function told(cell: string, epoch: number, ids: readonly string[], omitted = 0): CellReport {
  const value = { namespaceId: 'n', epoch, executions: ids.map(lost), omitted };
  return { cell, answer: { kind: 'answered', value } };
}

function away(cell: string): CellReport {
  return { cell, answer: { kind: 'failed', code: 'unavailable', message: 'no route' } };
}

describe('the report of a namespace that several cells keep losses of', () => {
  const rows: readonly [string, readonly CellReport[], string][] = [
    ['nothing was lost', [told('a', 0, []), told('b', 0, [])], 'epoch 0:'],
    [
      'the cell that won has handed the namespace on',
      [told('a', 0, []), told('b', 2, ['x'])],
      'epoch 2: x@b',
    ],
    [
      'two cells know of the same failover',
      [told('a', 2, ['y']), told('b', 2, ['z', 'x'], 3)],
      'epoch 2: x@b y@a z@b +3',
    ],
    [
      'a later failover lost something, too',
      [told('a', 4, ['y']), told('b', 2, ['x'], 3)],
      'epoch 4: y@a',
    ],
    [
      'a cell could keep nothing of it',
      [told('a', 0, [], 7), told('b', 2, ['x'])],
      'epoch 2: x@b +7',
    ],
    ['a cell is away', [away('a'), told('b', 2, ['x'])], 'epoch 2: x@b, without a (no route)'],
  ];
  it.each(rows)('%s', (_, reports, expected) => {
    const { epoch, executions = [], omitted = 0, unanswered = [] } = mergedReport(reports);
    const listed = executions.map(({ workflowId, cell }) => ` ${workflowId}@${cell}`).join('');
    const more = omitted > 0 ? ` +${omitted}` : '';
    const without = unanswered.map(({ cell, why }) => `, without ${cell} (${why})`).join('');
    expect(`epoch ${epoch}:${listed}${more}${without}`).toBe(expected);
  });

  it('is refused where nobody answers', () => {
    expect(() => mergedReport([away('a'), away('b')])).toThrow(/a: no route; b: no route/);
  });

  it('is asked of the replicas, and of who won a failover and keeps no copy any more', () => {
    const common = { fromEpoch: 1, startedAt: 0, phase: 'finished', phaseSince: 0 } as const;
    const move = (kind: Move['kind'], to: string): Move => ({
      ...{ ...common, id: `to ${to}`, kind, from: 'a', to, maxPauseMs: 0, autoConfirm: true },
    });
    const moves = [move('failover', 'c'), move('planned', 'd'), move('failover', 'b')];
    const placement = { active: 'b', replicas: ['a', 'b'] };
    expect(keepersOf({ ...namespaceOf('n', placement), moves })).toEqual(['b', 'a', 'c']);
  });
});
