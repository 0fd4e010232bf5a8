/** The seeded generator: repeatable, spread evenly, and independent where it forks. */
import { describe, expect, it } from 'vitest';
import { SeededRng } from './seeded-rng.ts';

describe('SeededRng', () => {
  it('repeats itself from the same seed and differs from its neighbours', () => {
    const draw = (seed: number) => {
      const rng = new SeededRng(seed);
      return [rng.uuid(), rng.fraction(), rng.integer(0, 1_000_000), [...rng.bytes(7)]];
    };
    expect(draw(42)).toEqual(draw(42));
    const seeds = [...Array(2_000).keys(), -1, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER];
    expect(new Set(seeds.map((seed) => JSON.stringify(draw(seed)))).size).toBe(seeds.length);
  });

  it('keeps its stream from release to release, so that recorded seeds stay good', () => {
    expect(new SeededRng(1).uuid()).toBe('19cb4c90-5cdb-4995-952f-5ae5223547f2');
  });

  it('spreads fractions and integers evenly', () => {
    const rng = new SeededRng(3);
    const buckets = new Array<number>(10).fill(0);
    for (let i = 0; i < 10_000; i++) {
      const index = rng.integer(0, 9);
      buckets[index] = (buckets[index] ?? 0) + 1;
    }
    for (const count of buckets) expect(Math.abs(count - 1_000)).toBeLessThan(150);
    const fractions = Array.from({ length: 10_000 }, () => rng.fraction());
    const mean = fractions.reduce((sum, f) => sum + f, 0) / fractions.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.02);
    expect(fractions.every((f) => f >= 0 && f < 1)).toBe(true);
  });

  it('forks streams that do not depend on what was drawn before', () => {
    const a = new SeededRng(9);
    const b = new SeededRng(9);
    b.bytes(100);
    expect(a.fork('network').uuid()).toBe(b.fork('network').uuid());
    expect(a.fork('network').uuid()).not.toBe(a.fork('store').uuid());
    const firsts = new Set<number>();
    for (let seed = 0; seed < 500; seed++) firsts.add(new SeededRng(seed).fork('store').uint32());
    expect(firsts.size).toBe(500);
  });

  it('makes version 4 ids', () => {
    const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    const rng = new SeededRng(11);
    for (let i = 0; i < 100; i++) expect(rng.uuid()).toMatch(pattern);
  });

  it('shuffles without losing or doubling', () => {
    const items = [...Array(50).keys()];
    const shuffled = new SeededRng(5).shuffle(items);
    expect(shuffled).not.toEqual(items);
    expect([...shuffled].sort((x, y) => x - y)).toEqual(items);
  });
});
