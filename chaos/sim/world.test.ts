import { describe, expect, it } from 'vitest';
import { World } from './world.ts';

describe('a simulated world', { timeout: 60_000 }, () => {
  it('does the same to the byte when its seed is run again', async () => {
    const once = await new World(11).run();
    const again = await new World(11).run();
    expect(again.traceHash).toBe(once.traceHash);
    expect(again.events).toBe(once.events);
    expect(once.events).toBeGreaterThan(500);
  });

  it('does something else under another seed', async () => {
    const hashes = new Set([
      (await new World(12).run()).traceHash,
      (await new World(13).run()).traceHash,
    ]);
    expect(hashes.size).toBe(2);
  });

  it('keeps every promise on a handful of seeds', async () => {
    for (let seed = 21; seed <= 30; seed += 1) {
      const { breaches } = await new World(seed).run();
      expect(breaches, `npm run sim -- --seed ${seed}`).toEqual([]);
    }
  });
});
