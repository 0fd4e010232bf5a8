import { expect, test, vi } from 'vitest';
import type { Loss, LossKeeper } from './loss.ts';
import { asIs, forever, image, twoCells } from '../testing/two-hosts.ts';
import { wf } from '../testing/shard-lab.ts';

/**
 * `a` took a signal of which `b`, active in between, heard nothing; `a` acts again, and its lane copies.
 * @param again signals that their clients sent once more, to `b`
 */
async function ownLoser(again: readonly string[] = []) {
  const cells = await twoCells();
  const { a, b, ship, moveHeard } = cells;
  await a.start('w');
  await ship('a');
  await a.signal('w', 'unheard');
  await moveHeard('2@2', 'b');
  for (const request of [...again, 'won']) await b.signal('w', request);
  const won = await image(b, 'w');
  await moveHeard('3@3', 'a');
  a.delivery = 'runs';
  /** What is kept of the branch that lost, and which signals were there when it was kept. */
  const kept: { readonly loss: Loss; readonly taken: readonly string[] }[] = [];
  const keeper: LossKeeper = {
    kept: () => Promise.resolve(undefined),
    keep: async (loss) => {
      kept.push({ loss, taken: await taken('unheard', 'won') });
    },
  };
  const taken = (...requests: readonly string[]) =>
    a.ownership.at(wf('w'), forever, ({ execution: { ledger } }) =>
      requests.filter((request) => ledger.find(request) !== undefined),
    );
  return { a, won, kept, taken, replicas: a.shards.replicas(keeper) };
}

test('an acting cell applies again what its own branch held, once that gave way', async () => {
  const { replicas, won, kept, taken } = await ownLoser();
  expect(await replicas.adopt(won, asIs, forever)).toEqual({ kind: 'applied' });
  expect(await taken('unheard', 'won')).toEqual(['unheard', 'won']);
  expect(kept.at(-1)?.loss.execution).toMatchObject({
    outcome: 'rolled-back',
    reapplied: ['signal go'],
    transitions: { from: 2, to: 2, epoch: 1 },
  });
});

test('what its branch held is told before that gives way: the cell may die before it applied it', async () => {
  const { replicas, won, kept } = await ownLoser();
  await replicas.adopt(won, asIs, forever);
  expect(kept[0]).toMatchObject({
    taken: ['unheard'],
    loss: {
      execution: { outcome: 'signal-undeliverable', rolledBack: ['WorkflowExecutionSignaled'] },
    },
  });
});

test('of what its branch held that which the winner has, too, is not told as lost', async () => {
  const { replicas, won, kept } = await ownLoser(['unheard']);
  await replicas.adopt(won, asIs, forever);
  expect(kept.map(({ loss }) => loss.execution.outcome)).toEqual(['rolled-back', 'rolled-back']);
});

test('a call that is cut does not keep the cell from applying again what its branch held', async () => {
  const { a, replicas, won, taken } = await ownLoser();
  a.fate = ({ kind }) => (kind === 'append' ? { kind: 'ok', answerMs: 500 } : undefined);
  const before = a.count('append');
  const cut = new AbortController();
  const adopting = replicas.adopt(won, asIs, cut.signal);
  await vi.waitFor(() => expect(a.count('append')).toBe(before + 1));
  cut.abort(new Error('the other cell has gone'));
  expect(await adopting).toEqual({ kind: 'refused', reason: 'the other cell has gone' });
  await a.settle();
  expect(await taken('unheard', 'won')).toEqual(['unheard', 'won']);
});

test.each(['done', 'runs'] as const)(
  'an image that comes twice takes nothing away that was decided on top of it: lane at %s',
  async (delivery) => {
    const { a, replicas, won, taken } = await ownLoser();
    a.delivery = delivery;
    const { log } = a.ownership;
    const admit = log.admit.bind(log);
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let looks = 0;
    // The first one has found that it wins, and is late.
    vi.spyOn(log, 'admit').mockImplementation((signal) => {
      looks += 1;
      return looks === 2 ? held : admit(signal);
    });
    const late = replicas.adopt(won, asIs, forever);
    await vi.waitFor(() => expect(looks).toBe(2));
    expect(await replicas.adopt(won, asIs, forever)).toEqual({ kind: 'applied' });
    await a.signal('w', 'on-top');
    release();
    expect(await late).toEqual({ kind: 'known' });
    expect(await taken('on-top')).toEqual(['on-top']);
  },
);
