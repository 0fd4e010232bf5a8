/** The bounded queue: its bound, its order, and that a full one says so. */
import { describe, expect, it } from 'vitest';
import { BoundedQueue } from './bounded-queue.ts';

describe('BoundedQueue', () => {
  it('hands out what it accepted, once and in order', () => {
    const queue = new BoundedQueue<number>('q', 3);
    for (const item of [1, 2, 3]) expect(queue.offer(item)).toEqual({ kind: 'accepted' });
    expect(queue.takeAll()).toEqual([1, 2, 3]);
    expect(queue.takeAll()).toEqual([]);
  });

  it('refuses beyond its capacity by name, and accepts again once it was emptied', () => {
    const queue = new BoundedQueue<number>('shard-append', 1);
    queue.offer(1);
    expect(queue.offer(2)).toEqual({ kind: 'full', queue: 'shard-append', capacity: 1 });
    expect(queue.size).toBe(1);
    queue.takeAll();
    expect(queue.offer(3)).toEqual({ kind: 'accepted' });
  });

  it('does not change a batch that was taken', () => {
    const queue = new BoundedQueue<number>('q', 2);
    queue.offer(1);
    const batch = queue.takeAll();
    queue.offer(2);
    expect(batch).toEqual([1]);
  });

  it.each([0, -1, 1.5, Number.NaN])('cannot be made with a capacity of %d', (capacity) => {
    expect(() => new BoundedQueue('q', capacity)).toThrow('q: capacity');
  });
});
