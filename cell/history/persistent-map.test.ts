import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withEntry, withoutKey } from './persistent-map.ts';

type Entry = { readonly n: number };

test('any changes leave the same entries in the same order as a plain map, and older maps as they were', () => {
  const key = fc.integer({ min: 0, max: 300 });
  const change = fc.record({ key, remove: fc.boolean() });
  const start = fc.integer({ min: 0, max: 300 });
  fc.assert(
    fc.property(start, fc.array(change, { minLength: 50, maxLength: 300 }), (size, changes) => {
      const model = new Map(Array.from({ length: size }, (_, n) => [n, { n }] as const));
      let map: ReadonlyMap<number, Entry> = new Map(model);
      for (const [n, one] of changes.entries()) {
        const before = map;
        const known = [...before];
        if (one.remove) model.delete(one.key);
        else model.set(one.key, { n: 1_000 + n });
        map = one.remove ? withoutKey(map, one.key) : withEntry(map, one.key, { n: 1_000 + n });
        expect(map.get(one.key)).toEqual(model.get(one.key));
        expect(map.size).toBe(model.size);
        if (n % 20 !== 0) continue;
        expect([...before]).toEqual(known);
        expect([...map]).toEqual([...model]);
        expect([...map.keys()]).toEqual([...model.keys()]);
        expect([...map.values()]).toEqual([...model.values()]);
      }
    }),
    { seed: 5, numRuns: 60 },
  );
});

test('a map of ten thousand is not copied for each change', () => {
  let map: ReadonlyMap<number, Entry> = new Map();
  for (let n = 0; n < 10_000; n += 1) map = withEntry(map, n, { n });
  let copies = 0;
  for (let n = 0; n < 200; n += 1) {
    map = withoutKey(map, n);
    if (map instanceof Map) copies += 1;
  }
  expect(map.size).toBe(9_800);
  expect(copies).toBeLessThan(5);
});

test('removing what is not there gives the same map', () => {
  const map = new Map([[1, { n: 1 }]]);
  expect(withoutKey(map, 2)).toBe(map);
});
