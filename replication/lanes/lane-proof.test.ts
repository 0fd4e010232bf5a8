/** What proves a lane, and what its series say once it is gone. */
import { afterEach, expect, it } from 'vitest';
import { NO_FAULT } from '../testing/receiver-peer.ts';
import { namespaceOf } from '../testing/stub-map.ts';
import { NS, runRef, TwoCells } from '../testing/two-cells.ts';

let cells: TwoCells;
afterEach(() => cells.close());
const back = () => cells.b.sender.status({ namespaceId: NS, target: 'a' });

it('is not heard by what it did not send', async () => {
  cells = new TwoCells();
  cells.b.out.fate = () => ({ ...NO_FAULT, lost: true });
  await cells.clock.advanceSettled(3_000);
  expect(back().acknowledgedMsAgo).toBeUndefined();
  cells.b.out.fate = () => NO_FAULT;
  await cells.clock.advanceSettled(6_000);
  expect(back()).toMatchObject({ kind: 'tail', pending: 0 });
  expect(back().acknowledgedMsAgo).toBeLessThan(1_100);
});

it('is proven at once in an empty namespace, by a call of its own, and then by its probes', async () => {
  cells = new TwoCells();
  await cells.clock.advanceSettled(50);
  expect(back()).toMatchObject({ kind: 'tail', total: 0 });
  expect(back().acknowledgedMsAgo).toBeLessThan(50);
  expect([...cells.b.out.calls]).toEqual([['digests', 1]]);
  await cells.clock.advanceSettled(60_000);
  expect(back().acknowledgedMsAgo).toBeLessThan(1_100);
  expect(cells.b.out.calls.get('digests')).toBe(1);
});

it('is not heard by a step that is too large for a call, before the image of its run has arrived', async () => {
  cells = new TwoCells({ config: { pushBytes: 400, stepMaxBytes: 500, probeEveryMs: 1e9 } });
  await cells.clock.advanceSettled(1_000);
  cells.a.out.fate = () => ({ ...NO_FAULT, lost: true });
  cells.a.replicas.write(runRef(1), { epoch: 1, text: 'x'.repeat(1_000) });
  await cells.clock.advanceSettled(10_000);
  expect(cells.status().acknowledgedMsAgo).toBeGreaterThan(10_000);
});

it('leaves nothing in the series of a target to which no lane leads any more', async () => {
  cells = new TwoCells();
  await cells.settle();
  const { metrics, out, replicas } = cells.a;
  const series = () =>
    ['lanes', 'pending_steps', 'pending_bytes', 'lag_ms'].map((name) =>
      metrics.value(`replication_${name}`, { target: 'b' }),
    );
  out.fate = () => ({ ...NO_FAULT, lost: true });
  replicas.write(runRef(1), { epoch: 1, text: 'x' });
  await cells.clock.advanceSettled(3_000);
  expect(series().every((value) => value > 0)).toBe(true);
  cells.map.set([namespaceOf(NS, { replicas: ['a', 'c'] })]);
  await cells.clock.advanceSettled(3_000);
  expect(series()).toEqual([0, 0, 0, 0]);
});
