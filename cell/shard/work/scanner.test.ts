import { describe, expect, test } from 'vitest';
import { startTimer } from '../../history/testing/inputs.ts';
import type { StatementFate, StoreStatement } from '../../storage/memory/store-faults.ts';
import { Host, ShardLab } from '../testing/shard-lab.ts';

function healed(host: Host): number | undefined {
  const [owner] = host.shards.owners();
  return owner?.scans?.healed;
}

/** Runs with a timer each that came due while nobody owned the shard, and one that did not. */
async function withOverdueTimers(runs: number): Promise<ShardLab> {
  const lab = new ShardLab();
  const before = await lab.host();
  for (let i = 0; i < runs; i += 1) {
    await before.start(`wf-${i}`);
    await before.work(`wf-${i}`, [startTimer('t', 10), startTimer('later', 3_600)]);
  }
  await before.settle();
  await before.shards.close();
  await lab.clock.advanceSettled(60_000);
  return lab;
}

/** A host that takes the shard over from a store that answers like this. */
async function takingOver(
  lab: ShardLab,
  fate: (statement: StoreStatement) => StatementFate | undefined,
): Promise<Host> {
  const host = new Host(lab.database, lab.clock, {});
  host.fate = fate;
  const opened = host.shards.open();
  await host.settle(10_000);
  await opened;
  return host;
}

describe('the scanner', () => {
  test('finds nothing to heal while due timers are on their way into their runs', async () => {
    const lab = await withOverdueTimers(3);
    // The first page of the scanner comes while the batch of timers is on its way to the store.
    let reads = 0;
    const landMs = { append: 500, read: 10 };
    const host = await takingOver(lab, ({ kind }) => {
      if (kind === 'read') reads += 1;
      if (kind !== 'append' && kind !== 'read') return undefined;
      return { kind: 'ok', landMs: kind === 'read' && reads > 2 ? 100 : landMs[kind] };
    });
    for (let i = 0; i < 3; i += 1) expect((await host.poll()).workflowId).toBe(`wf-${i}`);
    expect(host.count('append')).toBe(2); // The takeover row, and one batch of three timers.
    expect(healed(host)).toBe(0);
  });

  test('waits for the first reading of the views, also where the store fails it', async () => {
    const lab = new ShardLab();
    const before = await lab.host();
    for (let i = 0; i < 3; i += 1) await before.start(`wf-${i}`);
    await before.settle();
    await before.shards.close();
    let failing = 2;
    const host = await takingOver(lab, ({ kind }) =>
      kind === 'read' && failing-- > 0 ? { kind: 'rejected' } : undefined,
    );
    expect(failing).toBeLessThan(0);
    for (let i = 0; i < 3; i += 1) expect((await host.poll()).workflowId).toBe(`wf-${i}`);
    expect(healed(host)).toBe(0);
  });
});
