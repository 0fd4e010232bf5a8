import { expect, test } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import type { EncodedStep } from './record-codec.ts';
import { Gather } from './gather.ts';

const step = (bytes: number) => ({ events: new Uint8Array(bytes) }) as EncodedStep;

test('steps of one decision share a batch, also beyond its size', () => {
  const gather = new Gather(10, 1_000);
  const batch = gather.add({ steps: [step(900), step(900)] });
  expect(batch.steps).toHaveLength(2);
  expect(gather.add({ steps: [step(1)] })).not.toBe(batch);
  expect(gather.take()).toBe(batch);
  expect(gather.size).toBe(1);
});

test('it is full at its bound, and not after a batch has left', () => {
  const gather = new Gather(2, 1_000);
  gather.add({ steps: [step(1)] });
  expect(gather.full).toBe(false);
  gather.add({ steps: [step(1)] });
  expect(gather.full).toBe(true);
  gather.take();
  expect(gather.full).toBe(false);
});

test('what is abandoned tells everybody, and nobody else is disturbed', async () => {
  const gather = new Gather(9, 1);
  const batches = [gather.add({ steps: [step(1)] }), gather.add({ steps: [step(1)] })];
  gather.abandon(new AtollError('unavailable', 'over'));
  const ends = await Promise.allSettled(batches.map((batch) => batch.committed));
  expect(ends.map((end) => end.status)).toEqual(['rejected', 'rejected']);
  expect([gather.next, gather.size]).toEqual([undefined, 0]);
});
