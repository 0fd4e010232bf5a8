import { describe, expect, test } from 'vitest';
import { gate } from './gate.ts';

/** Counts how many are inside at once; each stays for a few turns of the event loop. */
function crowd() {
  let inside = 0;
  const seen = { most: 0, done: 0 };
  const visit = async () => {
    inside += 1;
    seen.most = Math.max(seen.most, inside);
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
    inside -= 1;
    seen.done += 1;
  };
  return { seen, visit };
}

describe('a gate', () => {
  test('lets the limit in and the others one by one', async () => {
    const { seen, visit } = crowd();
    const enter = gate(3);
    await Promise.all(Array.from({ length: 10 }, () => enter(visit)));
    expect(seen).toEqual({ most: 3, done: 10 });
  });

  test('work that fails gives its place back', async () => {
    const enter = gate(1);
    await expect(enter(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(enter(() => Promise.resolve('yes'))).resolves.toBe('yes');
  });
});
