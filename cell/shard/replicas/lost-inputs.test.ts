import { expect, test } from 'vitest';
import { COMPLETE } from '../../history/testing/inputs.ts';
import { invariant } from '../../../kernel/invariant.ts';
import { settlePromises } from '../../../kernel/testing/virtual-clock.ts';
import type { Seq } from '../../storage/shard-log.ts';
import { NS } from '../testing/shard-lab.ts';
import { asIs, forever, image, kinds, twoCells } from '../testing/two-hosts.ts';

/** `a` took a signal, ended the run on it, and died; `b`, active now, heard of neither and took a signal of its own. */
async function endedOnTheLoser() {
  const cells = await twoCells();
  const { a, b, ship, move } = cells;
  await a.start('w');
  await ship('a');
  await a.signal('w', 'finish');
  await a.work('w', [COMPLETE]);
  move('2@2', 'b');
  await b.shards.replicas().observe(NS, forever);
  await b.signal('w', 'other');
  return cells;
}

test('a signal that was applied again is not undeliverable when its branch is heard once more', async () => {
  const { a, b, ship, losses } = await endedOnTheLoser();
  expect(new Set(kinds(await ship('a')))).toEqual(new Set(['lost']));
  const told = { outcome: 'reopened', reapplied: ['signal go'] };
  expect(losses.at(-1)?.execution).toMatchObject(told);
  await b.work('w', [COMPLETE]); // It ends here, too, on what was applied again.
  const again = a.fed.flatMap((row) => row.steps);
  expect(kinds(await b.shards.replicas().apply(again, forever)).at(-1)).toBe('lost');
  expect(losses.at(-1)?.execution).toMatchObject(told);
});

test('a signal that the client has sent anew is not undeliverable', async () => {
  const { b, ship, losses } = await endedOnTheLoser();
  await b.signal('w', 'finish');
  await b.work('w', [COMPLETE]);
  await ship('a');
  expect(losses.at(-1)?.execution).toMatchObject({ outcome: 'rolled-back', reapplied: [] });
});

test('a signal that the winner has taken counts once it is durable there', async () => {
  const { b, ship, losses, labB } = await endedOnTheLoser();
  const { log } = labB.tables;
  const last = [...log.values()].at(-1);
  invariant(last !== undefined, 'b has decided something');
  const held = labB.database.hold({ ...last, seq: (last.seq + 1) as Seq });
  const end = { kind: 'terminate', reason: '', identity: '' } as const;
  const taken = [b.signal('w', 'finish'), b.ask('w', end)];
  await settlePromises();
  let isTold = false;
  const shipped = ship('a').then(() => (isTold = true));
  await settlePromises();
  expect([isTold, losses.length]).toEqual([false, 0]);
  held.rollback();
  await Promise.all([...taken, shipped]);
  expect(losses.at(-1)?.execution).toMatchObject({ outcome: 'rolled-back' });
});

test('a signal of which the winner knows nothing is undeliverable once the run has ended', async () => {
  const { b, ship, losses } = await endedOnTheLoser();
  await b.work('w', [COMPLETE]);
  await ship('a');
  expect(losses.at(-1)?.execution).toMatchObject({ outcome: 'signal-undeliverable' });
});

/** `a` and `b` take a signal each for two runs, of which one has room for no more than `b` gave it. */
async function full() {
  const cells = await twoCells({ limits: { maximumSignals: 2 } });
  const { a, b, ship, move } = cells;
  for (const id of ['full', 'other']) await a.start(id);
  await ship('a');
  for (const id of ['full', 'other']) await a.signal(id, `${id}-late`);
  move('2@2', 'b');
  await b.shards.replicas().observe(NS, forever);
  for (const n of [1, 2]) await b.signal('full', `b-${n}`);
  await b.signal('other', 'b-1');
  return cells;
}

test('a signal for which the winner has no room is undeliverable, and what comes behind it goes on', async () => {
  const { ship, losses } = await full();
  expect(kinds(await ship('a'))).toEqual(['lost', 'lost']);
  const told = losses.map(({ execution: { workflowId, outcome } }) => [workflowId, outcome]);
  expect(Object.fromEntries(told)).toEqual({ full: 'signal-undeliverable', other: 'rolled-back' });
});

test('the same of a branch that comes whole', async () => {
  const { a, b, losses } = await full();
  const whole = await image(a, 'full');
  expect(await b.shards.replicas().adopt(whole, asIs, forever)).toEqual({ kind: 'lost' });
  expect(losses.at(-1)?.execution.outcome).toBe('signal-undeliverable');
});
