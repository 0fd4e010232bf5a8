import { describe, expect, test } from 'vitest';
import { startTimer } from '../../history/testing/inputs.ts';
import type { StatementFate, StoreStatement } from '../../storage/memory/store-faults.ts';
import { Host, NS, ShardLab } from '../testing/shard-lab.ts';
import { forever, placed, twoCells } from '../testing/two-hosts.ts';

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

  test('finds nothing to heal where a namespace begins to act while the views are being read for another', async () => {
    const { a, b, labB, ship } = await twoCells();
    for (let i = 0; i < 3; i += 1) await a.start(`wf-${i}`);
    await ship('a');
    await b.settle();
    await b.shards.close();
    const host = new Host(labB.database, labB.clock, {});
    host.placement = placed('1@1');
    host.fate = ({ kind }) => (kind === 'read' ? { kind: 'ok', landMs: 200 } : undefined);
    const opened = host.shards.open();
    const isOwned = () => [...host.shards.owners()].some(({ current }) => current !== undefined);
    for (let ms = 0; ms < 5_000 && !isOwned(); ms += 50) await host.settle(50);
    await opened;
    // The first reading is on its way, and passes over what is not to be driven yet.
    host.placement = placed('2@2 active');
    await host.shards.replicas().observe(NS, forever);
    await host.settle(10_000);
    for (let i = 0; i < 3; i += 1) expect((await host.poll()).workflowId).toBe(`wf-${i}`);
    expect(healed(host)).toBe(0);
  });
});
