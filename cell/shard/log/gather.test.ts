import { expect, test } from 'vitest';
import { AtollError } from '../../../kernel/errors.ts';
import type { Adoption, EncodedStep } from './record-codec.ts';
import { Gather } from './gather.ts';

const step = (bytes: number, workflowId = 'w') =>
  ({ events: new Uint8Array(bytes), transition: { workflowId } }) as EncodedStep;
const adoption = (workflowId: string) =>
  ({ events: new Uint8Array(0), state: { workflowId } }) as Adoption;

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

test('a run that is replaced shares a batch with others, and none with steps of its own workflow id', () => {
  const gather = new Gather(9, 1_000_000);
  const first = gather.add({ steps: [step(1, 'a')] });
  expect(gather.add({ adoption: adoption('b') })).toBe(first);
  expect(gather.add({ steps: [step(1, 'c')] })).toBe(first);
  const second = gather.add({ steps: [step(1, 'b')] });
  expect(second).not.toBe(first);
  expect(gather.add({ adoption: adoption('a') })).toBe(second);
  expect(gather.add({ adoption: adoption('a') })).not.toBe(second);
});
