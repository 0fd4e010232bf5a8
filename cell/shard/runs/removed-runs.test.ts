import { describe, expect, test } from 'vitest';
import { settlePromises } from '../../../kernel/testing/virtual-clock.ts';
import type { Removal } from '../log/record-codec.ts';
import { RemovedRuns } from './removed-runs.ts';
import { NS, outcomeOf, ShardLab, wf, type Host } from '../testing/shard-lab.ts';

async function removalOf(host: Host, id: string): Promise<Removal> {
  return host.ownership.at(wf(id), new AbortController().signal, ({ run }) => ({
    ...run.ref,
    historyIds: [run.branch.historyId],
    execution: true,
  }));
}

async function remove(host: Host, id: string): Promise<Removal> {
  const removal = await removalOf(host, id);
  await host.ownership.append({ removal }).committed;
  return removal;
}

const stored = ({ tables }: ShardLab) =>
  [tables.runs, tables.executions, tables.history, tables.ledger].map(({ size }) => size);

describe('a removed run', () => {
  test('goes with all that is stored of it, at the next checkpoint', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('w');
    await host.start('other');
    await host.settle();
    expect(stored(lab)).toEqual([2, 2, 2, 2]);
    await remove(host, 'w');
    await host.settle();
    expect(stored(lab)).toEqual([1, 1, 1, 1]);
  });

  test('is gone as well if it was in no view yet', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('w');
    await remove(host, 'w');
    await host.settle();
    expect(stored(lab)).toEqual([0, 0, 0, 0]);
  });

  test('is not there for whoever asks, and its workflow id is free once its rows are gone', async () => {
    const lab = new ShardLab();
    const host = await lab.host();
    await host.start('w');
    await host.settle();
    await remove(host, 'w');
    const started = host.start('w', { requestId: 'again' });
    expect(await outcomeOf(started)).toBe('waits');
    await host.settle();
    expect(await started).toMatchObject({ kind: 'started', fresh: true });
    await host.settle();
    expect(stored(lab)).toEqual([1, 1, 1, 1]);
  });

  test('stays removed when its owner dies before the checkpoint', async () => {
    const lab = new ShardLab({ checkpointIntervalMs: 60_000 });
    const host = await lab.host();
    await host.start('w');
    await host.settle(61_000);
    await remove(host, 'w');
    const next = await lab.host();
    const asked = next.signal('w').catch((error: unknown) => error);
    await next.settle(61_000);
    expect(await asked).toMatchObject({ code: 'not-found' });
    expect(stored(lab)).toEqual([0, 0, 0, 0]);
  });

  test('keeps nobody waiting whose owner ended', async () => {
    const removed = new RemovedRuns();
    const ref = { namespaceId: NS, workflowId: 'w', runId: 'r' };
    removed.add({ removal: { ...ref, historyIds: ['r'], execution: true }, timers: [] });
    const [run, id, other] = [ref, wf('w'), wf('other')].map((key) => removed.settled(key));
    expect(await outcomeOf(other ?? Promise.resolve())).toBe('done');
    expect(await outcomeOf(Promise.all([run, id]))).toBe('waits');
    removed.release();
    await settlePromises();
    expect(await outcomeOf(Promise.all([run, id]))).toBe('done');
  });
});
