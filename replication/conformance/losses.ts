/** The conformance suite of the losses' port: every adapter passes it. */
import { beforeEach, expect, it } from 'vitest';
import type { LostExecution } from '../../cell/shard/replicas/loss.ts';
import type { Losses } from '../losses/losses.ts';

const NAMESPACE = '11111111-1111-4111-8111-111111111111';
const signal = new AbortController().signal;

function execution(workflowId: string, change: Partial<LostExecution> = {}): LostExecution {
  return {
    workflowId,
    runId: `run of ${workflowId}`,
    outcome: 'rolled-back',
    transitions: { from: 2, to: 5, epoch: 1 },
    rolledBack: ['WorkflowExecutionSignaled'],
    reapplied: [`it's "go" 😀`],
    mayHaveRunTwice: [],
    ...change,
  };
}

export function lossesConformance(make: () => Promise<Losses>): void {
  let losses: Losses;
  beforeEach(async () => {
    losses = await make();
  });
  const add = (epoch: number, ...executions: LostExecution[]) =>
    losses.add(
      executions.map((one) => ({ namespaceId: NAMESPACE, epoch, execution: one })),
      signal,
    );
  const of = (epoch: number) => ({ transitions: { from: 2, to: 5, epoch } });
  const list = (limit = 100) => losses.list({ namespaceId: NAMESPACE, limit }, signal);

  it('knows nothing of a namespace that lost nothing', async () => {
    await losses.add([], signal);
    expect(await list()).toEqual({ epoch: 0, executions: [], total: 0 });
  });

  it('gives losses back by workflow id, within the limit, and counts all', async () => {
    await add(2, execution('b'), execution('a'), execution('B'));
    expect(await list(2)).toEqual({
      epoch: 2,
      executions: [execution('B'), execution('a')],
      total: 3,
    });
  });

  it('replaces the loss of the same run and epoch, also within one call', async () => {
    await add(2, execution('a'), execution('a', { reapplied: ['x'] }));
    await add(2, execution('a', { reapplied: ['y'] }));
    expect(await list()).toMatchObject({ executions: [{ reapplied: ['y'] }], total: 1 });
  });

  it('finds one by namespace, epoch and run', async () => {
    await add(2, execution('a'), execution('b', { reapplied: ['x'] }));
    const of = { namespaceId: NAMESPACE, epoch: 2, workflowId: 'b', runId: 'run of b' };
    expect(await losses.find(of, signal)).toEqual(execution('b', { reapplied: ['x'] }));
    expect(await losses.find({ ...of, epoch: 3 }, signal)).toBeUndefined();
    expect(await losses.find({ ...of, runId: 'run of a' }, signal)).toBeUndefined();
    expect(await losses.find({ ...of, namespaceId: 'other' }, signal)).toBeUndefined();
  });

  it('tells of the newest failover, and of one namespace alone', async () => {
    await add(2, execution('a'));
    await add(4, execution('b', of(3)));
    const other = { namespaceId: 'other', epoch: 9, execution: execution('c') };
    await losses.add([other], signal);
    expect(await list()).toMatchObject({ epoch: 4, executions: [{ workflowId: 'b' }], total: 1 });
  });

  it('does not let a late piece, heard of after planned moves, hide what the failover cost', async () => {
    await add(2, execution('a'), execution('c'));
    await add(4, execution('b'), execution('a', { reapplied: ['late'] }));
    expect(await list()).toEqual({
      epoch: 2,
      executions: [
        execution('a'),
        execution('a', { reapplied: ['late'] }),
        execution('b'),
        execution('c'),
      ],
      total: 4,
    });
  });
}
