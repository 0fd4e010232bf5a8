import { expect, test } from 'vitest';
import { PinnedLru } from './lru.ts';

test('the least recently used leaves first', () => {
  const lru = new PinnedLru<string>(3, () => true);
  for (const key of ['a', 'b', 'c']) lru.set(key, key);
  lru.get('a');
  lru.set('d', 'd');
  expect([...lru.values()]).toEqual(['c', 'a', 'd']);
});

test('what may not be forgotten stays, and leaves once it may', () => {
  const pinned = new Set(['a', 'b', 'c']);
  const lru = new PinnedLru<string>(1, (value) => !pinned.has(value));
  for (const key of ['a', 'b', 'c', 'x', 'y']) lru.set(key, key);
  expect([...lru.values()].toSorted()).toEqual(['a', 'b', 'c', 'y']);
  pinned.clear();
  lru.trim();
  expect(lru.size).toBe(1);
});

test('the one just added stays until the next look, however little room there is', () => {
  const lru = new PinnedLru<string>(1, (value) => value !== 'pinned');
  lru.set('pinned', 'pinned');
  lru.set('new', 'new');
  expect(lru.get('new')).toBe('new');
});
