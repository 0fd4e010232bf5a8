import { describe, expect, test } from 'vitest';
import { asIs, forever, twoCells } from '../testing/two-hosts.ts';
import { wf } from '../testing/shard-lab.ts';
import { currentOf, expectEqual, idGivenBack, isOpen, observe } from '../testing/two-runs.ts';

async function givenBack() {
  const cells = await twoCells();
  const { unheard, second } = await idGivenBack(cells);
  const { a, moveHeard } = cells;
  await moveHeard('5@5', 'a'); // It has not heard of that.
  await a.signal('w', 'goes-on');
  return { ...cells, unheard, second };
}

describe('a workflow id that an end gave back to another run', () => {
  test.each(['its steps', 'the winner'] as const)(
    'points where it did once that end has lost (%s first)',
    async (first) => {
      const cells = await givenBack();
      const { a, b, ship, unheard, second } = cells;
      if (first === 'its steps') await ship('b');
      await expectEqual(cells, [unheard, second]);
      expect([await isOpen(a, second), await isOpen(b, second)]).toEqual([true, true]);
      expect([await currentOf(a), await currentOf(b)]).toEqual([second.runId, second.runId]);
    },
  );

  test('points where it did also in a cell that acts, once it knows that the other run has ended', async () => {
    const cells = await givenBack();
    const { a, b, move, unheard, second } = cells;
    const ended = await a.shards.replicas().image(unheard, forever);
    const winner = await a.shards.replicas().image(second, forever);
    move('6@6', 'b');
    await observe(a);
    await observe(b);
    await b.shards.replicas().adopt(ended, asIs, forever);
    await b.shards.replicas().adopt(winner, asIs, forever);
    await b.settle();
    expect([await isOpen(b, second), await currentOf(b)]).toEqual([true, second.runId]);
    await expectEqual(cells, [unheard, second]);
  });

  test('stays with that run in a cell that acts and has it open', async () => {
    const cells = await givenBack();
    const { a, b, move, unheard, second } = cells;
    const winner = await a.shards.replicas().image(second, forever);
    move('6@6', 'b');
    await observe(a);
    await observe(b);
    const { current } = await b.ownership.at(wf('w'), forever, ({ execution }) => execution);
    expect(current).toMatchObject({ runId: unheard.runId, by: second.runId });
    await b.shards.replicas().adopt(winner, asIs, forever);
    await b.settle();
    expect([await isOpen(b, second), await currentOf(b)]).toEqual([false, unheard.runId]);
    await expectEqual(cells, [unheard, second]);
  });
});
