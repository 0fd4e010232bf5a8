import { expect, test } from 'vitest';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { DueIndex } from './due-index.ts';

/** What the index should hold: all entries, sorted; those at or beyond the horizon may be missing. */
test.each([1, 2, 3, 4, 5, 6, 7, 8])('seed %i: nothing due before the horizon is lost', (seed) => {
  const rng = new SeededRng(seed);
  const window = rng.integer(1, 40);
  const model = new Map<string, number>();
  const dropped = new Set<string>();
  const index = new DueIndex<null>(window, ({ key }) => dropped.add(key));
  for (let step = 0; step < 2_000; step += 1) {
    const key = `k${rng.integer(0, 80)}`;
    const dueAt = rng.integer(0, rng.chance(0.2) ? 2 : 50);
    if (rng.chance(0.7)) {
      model.set(key, dueAt);
      dropped.delete(key);
      const held = index.set({ key, dueAt, item: null }, rng.chance(0.2));
      expect(held).toBe(index.has(key));
    } else if (rng.chance(0.5)) {
      model.delete(key);
      index.remove(key);
    } else {
      const now = rng.integer(0, 50);
      const entry = index.take(now);
      const known = [...model].filter(([each]) => index.has(each)).map(([, due]) => due);
      if (entry) {
        expect(model.get(entry.key)).toBe(entry.dueAt);
        expect(entry.dueAt).toBeLessThanOrEqual(Math.min(now, ...known));
        model.delete(entry.key);
      } else expect(known.every((due) => due > now)).toBe(true);
    }
    expect(index.size).toBeLessThanOrEqual(window);
    for (const [each, due] of model) {
      if (due < index.horizon && !index.has(each)) expect.fail(`${each} due at ${due} is lost`);
      if (dropped.has(each) && index.has(each)) expect.fail(`${each} is held, and called dropped`);
    }
  }
});

test('more entries at one instant than the window holds stay bounded', () => {
  const index = new DueIndex<null>(10);
  for (let i = 0; i < 100; i += 1) index.set({ key: `k${i}`, dueAt: 5, item: null });
  expect(index.size).toBeLessThanOrEqual(10);
  expect(index.horizon).toBe(5);
});
