import { describe, expect, test } from 'vitest';
import { startTimer } from '../history/testing/inputs.ts';
import { ShardLab, type Host } from './testing/shard-lab.ts';

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

describe('the scanner', () => {
  test('finds nothing to heal while due timers are on their way into their runs', async () => {
    const lab = await withOverdueTimers(3);
    const host = await lab.host();
    // Slow enough that the first pass meets all of them.
    host.fate = ({ kind }) => (kind === 'append' ? { kind: 'ok', landMs: 500 } : undefined);
    await host.settle();
    for (let i = 0; i < 3; i += 1) expect((await host.poll()).workflowId).toBe(`wf-${i}`);
    expect(healed(host)).toBe(0);
    expect(host.count('append')).toBe(2); // The takeover row, and one batch of three timers.
  });

  test('waits for the first reading of the views, also where the store fails it', async () => {
    const lab = await withOverdueTimers(3);
    const host = await lab.host();
    let failing = 4;
    host.fate = ({ kind }) => (kind === 'read' && failing-- > 0 ? { kind: 'rejected' } : undefined);
    await host.settle(10_000);
    expect(failing).toBeLessThan(0);
    for (let i = 0; i < 3; i += 1) expect((await host.poll()).workflowId).toBe(`wf-${i}`);
    expect(healed(host)).toBe(0);
  });
});
