import { expect, test } from 'vitest';
import { settlePromises } from '../../../kernel/testing/virtual-clock.ts';
import { asIs, digest, forever, image, kinds, twoCells } from '../testing/two-hosts.ts';
import { NS } from '../testing/shard-lab.ts';

test('what is decided on a branch that is being adopted lies under that branch', async () => {
  const { a, b, ship, move } = await twoCells();
  await a.start('w');
  await ship('a');
  await a.signal('w', 'lost');
  move('2@2', 'b');
  await b.shards.replicas().observe(NS, forever);
  await b.signal('w', 'won');
  await a.shards.replicas().observe(NS, forever);
  const winner = await image(b, 'w');
  await ship('b');
  await b.signal('w', 'on top of it');
  await a.settle();
  a.fate = ({ kind }) => (kind === 'append' ? { kind: 'ok', answerMs: 500 } : undefined);
  const adopted = a.shards.replicas().adopt(winner, asIs, forever);
  await settlePromises();
  const followed = ship('b');
  await a.settle();
  expect(await adopted).toEqual({ kind: 'applied' });
  expect(kinds(await followed)).toEqual(['applied']);
  await a.settle(10_000);
  expect(await digest(a, 'w', true)).toEqual(await digest(b, 'w'));
});
