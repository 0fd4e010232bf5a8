import { expect, test } from 'vitest';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { startTimer } from '../../history/testing/inputs.ts';
import type { Host } from '../testing/shard-lab.ts';
import { calling, ShardLab, wf } from '../testing/shard-lab.ts';

/** Far more timers than the window holds, across checkpoints, forgetting and takeovers: each fires once, in time. */
test.each([1, 2, 3, 4, 5, 6])(
  'seed %i: every timer fires, none early',
  async (seed) => {
    const rng = new SeededRng(seed);
    const lab = new ShardLab({
      timerWindow: rng.integer(4, 12),
      cachedRunLimit: rng.integer(2, 8),
      checkpointIntervalMs: 500,
    });
    let host = await lab.host();
    const due: { readonly id: string; readonly at: number }[] = [];
    for (let i = 0; i < 25; i += 1) {
      const id = `wf-${i}`;
      await host.start(id);
      const seconds = Array.from({ length: rng.integer(1, 4) }, () => rng.integer(60, 120));
      await host.work(
        id,
        seconds.map((each, n) => startTimer(`t${n}`, each)),
      );
      due.push({ id, at: lab.clock.now() + 1_000 * Math.max(...seconds) });
      await lab.clock.advanceSettled(rng.integer(0, 400));
      if (rng.chance(0.1)) host = await lab.host();
    }
    for (let passed = 0; passed < 150; passed += 1) {
      await lab.clock.advanceSettled(1_000);
      for (const { id, at } of due) {
        const early = lab.clock.now() < at;
        const pending = await pendingTimers(host, id);
        if (early) expect(pending, `${id} at ${passed} s`).toBeGreaterThan(0);
        if (lab.clock.now() > at + 1_000) expect(pending, `${id} at ${passed} s`).toBe(0);
      }
    }
    expect(lab.tables.timers.size).toBe(0);
  },
  30_000,
);

async function pendingTimers(host: Host, id: string): Promise<number> {
  return (await host.shards.read(wf(id), calling())).state.timers.size;
}
