import { expect, test } from 'vitest';
import { settlePromises } from '../../../kernel/testing/virtual-clock.ts';
import { activity, startTimer } from '../../history/testing/inputs.ts';
import { calling, NS, QUEUE, wf } from '../testing/shard-lab.ts';
import { forever, placed, twoCells } from '../testing/two-hosts.ts';

/** A namespace with these runs moves from `a` to `b`; the runs named `saved` are in the views of `b` by then. */
async function moved(runs: {
  readonly saved: readonly string[];
  readonly fresh: readonly string[];
}) {
  const { a, b, ship, move } = await twoCells();
  const begin = async (id: string) => {
    await a.start(id);
    await a.work(id, [startTimer('t', 60)]);
  };
  for (const id of runs.saved) await begin(id);
  await ship('a');
  await b.settle(2_000);
  for (const id of runs.fresh) await begin(id);
  await ship('a');
  a.placement = placed('2@1 active handover');
  await a.shards.replicas().gate({ namespaceId: NS, moveId: 'm', revision: 2 }, forever);
  await ship('a');
  move('3@2', 'b');
  await b.shards.replicas().observe(NS, forever);
  return { a, b };
}

test('clocks of a namespace that becomes active ring, whether memory or the views alone know them', async () => {
  const { a, b } = await moved({ saved: ['w', 'x'], fresh: ['y'] });
  await b.settle(70_000);
  for (const id of ['w', 'x', 'y']) {
    const { state } = await b.shards.read(wf(id), calling());
    expect(state.timers.size).toBe(0);
  }
  expect(b.matching.backlog(QUEUE).tasks).toBe(3);
  expect(a.matching.backlog(QUEUE).tasks).toBe(0);
});

test('what waits for a worker is offered in the turn in which the namespace begins to act', async () => {
  const { a, b, ship, move } = await twoCells();
  await a.start('w');
  await a.work('w', [activity('act')]);
  await a.signal('w', 'r1');
  await ship('a');
  await b.settle(2_000);
  move('2@2', 'b');
  let offered = 0;
  const reads = b.count('read');
  await b.shards
    .replicas()
    .observe(NS, forever)
    .then(() => (offered = b.matching.backlog(QUEUE).tasks));
  expect(offered).toBe(1);
  expect(b.count('read') - reads).toBeLessThanOrEqual(2);
});

test('a namespace that is closed has no clock and no held task left, and others keep theirs', async () => {
  const { a } = await twoCells();
  await a.start('w');
  await a.work('w', [startTimer('t', 60)]);
  const { driver } = a.ownership.work;
  const other = { namespaceId: 'other', workflowId: 'o', runId: 'o' };
  driver.sync(other, [{ kind: 'timer', key: 't:9', dueAt: Number.MAX_SAFE_INTEGER }]);
  a.placement = placed('2@1 active handover');
  await a.shards.replicas().gate({ namespaceId: NS, moveId: 'm', revision: 2 }, forever);
  const before = a.fed.length;
  await a.settle(120_000);
  expect(a.fed.length).toBe(before);
  expect(driver.sync(other, [{ kind: 'timer', key: 't:9', dueAt: Number.MAX_SAFE_INTEGER }])).toBe(
    0,
  );
  a.placement = placed('3@1 active');
  await a.shards.replicas().observe(NS, forever);
  await a.settle(1_000);
  expect(a.matching.backlog(QUEUE).tasks).toBe(1); // The timer was due long ago.
});

test('a task that was asked for while the next mark was on its way is offered again', async () => {
  const { a, move } = await twoCells();
  await a.start('w');
  const task = await a.poll();
  a.fate = ({ kind }) => (kind === 'append' ? { kind: 'ok', answerMs: 500 } : undefined);
  move('2@2', 'a');
  const observed = a.shards.replicas().observe(NS, forever);
  await settlePromises();
  expect(await a.startTask(task)).toEqual({ kind: 'obsolete' });
  await a.settle(2_000);
  await observed;
  expect(await a.poll()).toMatchObject({ workflowId: 'w' });
});
