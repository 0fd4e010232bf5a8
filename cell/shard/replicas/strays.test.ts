import { describe, expect, test } from 'vitest';
import { singly } from '../../history/execution.ts';
import { asIs, forever, kinds, placed, twoCells } from '../testing/two-hosts.ts';
import { calling, type Host, ShardLab, wf } from '../testing/shard-lab.ts';
import {
  currentOf,
  digests,
  expectEqual,
  idGivenBack,
  isOpen,
  observe,
  started,
  twoRuns,
} from '../testing/two-runs.ts';

const tookIn = (host: Host, requestId: string) =>
  host.ownership.memory.peekExecution(wf('w'))?.ledger.find(requestId);

describe('a workflow id that two cells took, each in its own epoch', () => {
  test('has one open run in the cell that is active next, though both are open there', async () => {
    const cells = await twoCells();
    const { a, b, ship, move, losses } = cells;
    const { unheard, second } = await twoRuns(cells);
    expect(new Set(kinds(await ship('a')))).toEqual(new Set(['applied']));
    move('4@4', 'b');
    await observe(a);
    await observe(b);
    await b.settle();
    expect(await isOpen(b, unheard)).toBe(false);
    expect(await isOpen(b, second)).toBe(true);
    expect(await currentOf(b)).toBe(second.runId);
    const told = { epoch: 4, execution: { runId: unheard.runId, outcome: 'superseded' } };
    expect(losses).toMatchObject([told]);
    await expectEqual(cells, [unheard, second]);
  });

  test('tells whose its request is also by the image of the run that gave way', async () => {
    const cells = await twoCells();
    const { a, b, ship, move } = cells;
    const { unheard, second } = await twoRuns(cells, 'same');
    await ship('a');
    move('4@4', 'b');
    await observe(a);
    await observe(b);
    await b.settle();
    expect(await isOpen(b, unheard)).toBe(false);
    const ended = await b.shards.replicas().image(unheard, forever);
    expect(await a.shards.replicas().adopt(ended, asIs, forever)).toEqual({ kind: 'applied' });
    expect(await digests(a, [unheard, second])).toEqual(await digests(b, [unheard, second]));
  });

  test.each([0, 1, 2, 3])(
    'has its request with one run after each cell has said it of its own (%i)',
    async (others) => {
      const cells = await twoCells();
      const { a, b, ship, move } = cells;
      for (let i = 0; i < others; i += 1) await a.start(`other-${i}`); // Other run ids.
      const { unheard, second } = await twoRuns(cells, 'same');
      await ship('b');
      expect([await isOpen(a, unheard), await currentOf(a)]).toEqual([false, second.runId]);
      move('4@4', 'b');
      await observe(a);
      await observe(b);
      await b.signal('w', 'goes-on'); // What ended it in a has lost.
      await ship('a');
      await b.settle();
      expect([await isOpen(b, second), await currentOf(b)]).toEqual([false, unheard.runId]);
      await expectEqual(cells, [unheard, second]);
    },
  );

  test('has its request with the run that took it last once what an end said of it has lost', async () => {
    const cells = await twoCells();
    const { a, b, ship, move } = cells;
    await a.settle(1_000); // The second one is the later one.
    const { unheard, second } = await twoRuns(cells, 'same');
    const terminate = { kind: 'terminate', reason: 'why', identity: 'client' } as const;
    await a.ask('w', terminate);
    await ship('b');
    const said = (host: Host) => [tookIn(host, 'same')?.runId, tookIn(host, 'same')?.epoch];
    expect(said(a)).toEqual([second.runId, 3]);
    move('4@4', 'b');
    await observe(b);
    await b.ask('w', terminate);
    const ended = await b.shards.replicas().image(unheard, forever);
    move('5@5', 'a');
    await observe(a);
    await observe(b);
    await a.settle(2_000);
    a.ownership.memory.forget(unheard);
    expect(tookIn(a, 'same')).toBeUndefined();
    expect(await a.shards.replicas().adopt(ended, asIs, forever)).toEqual({ kind: 'applied' });
    expect(said(a)).toEqual([second.runId, undefined]);
    await expectEqual(cells, [unheard, second]);
    expect(said(b)).toEqual([second.runId, undefined]);
  });

  test('has by the image of one run nothing that the end of the other one said: that may lose', async () => {
    const cells = await twoCells();
    const { a, b, ship, moveHeard } = cells;
    const { unheard, second } = await twoRuns(cells, 'same');
    await ship('b');
    expect(tookIn(a, 'same')).toMatchObject({ runId: second.runId, by: unheard.runId });
    const winner = await a.shards.replicas().image(second, forever);
    await moveHeard('4@4', 'b');
    await b.signal('w', 'goes-on'); // What ended it in a has lost.
    await b.shards.replicas().adopt(winner, asIs, forever);
    const { ledger } = await b.shards.replicas().image(unheard, forever);
    const said = ledger.filter(({ requestId }) => requestId === 'same').flatMap(singly);
    expect(said.map(({ by }) => by)).not.toContain(unheard.runId);
    await expectEqual(cells, [unheard, second]);
  });

  test('has a request with the other run that took it, once the branch that took it last has lost', async () => {
    const cells = await twoCells();
    const { a, b, ship, move } = cells;
    const first = await started(a, 'first');
    await ship('a');
    b.placement = placed('2@2 active');
    await observe(b);
    await b.ask('w', { kind: 'terminate', reason: 'why', identity: 'client' });
    const second = await started(b, 'second');
    await b.signal('w', 'same');
    await a.settle(1_000);
    await a.signal('w', 'same'); // It has not heard of the failover.
    move('2@2', 'b');
    await observe(a);
    await expectEqual(cells, [first, second]);
    expect(tookIn(a, 'same')).toMatchObject({ runId: second.runId });
  });

  test.each(['steps', 'image'] as const)(
    'points at a run that ended, where its end was heard of after the id was given back to it (%s)',
    async (by) => {
      const cells = await twoCells();
      const { a, b, ship, move } = cells;
      const first = await started(a, 'first');
      await ship('a');
      move('2@2', 'b');
      await observe(a);
      await observe(b);
      await b.ask('w', { kind: 'terminate', reason: 'why', identity: 'client' });
      const second = await started(b, 'second');
      const early = await b.shards.replicas().image(second, forever);
      move('3@3', 'a');
      await observe(a);
      await observe(b);
      await a.shards.replicas().adopt(early, asIs, forever);
      expect([await isOpen(a, second), await currentOf(a)]).toEqual([false, first.runId]);
      const pointsAtOpen = await a.shards.replicas().image(second, forever);
      const told =
        by === 'image'
          ? [await b.shards.replicas().adopt(pointsAtOpen, asIs, forever)]
          : await ship('a');
      expect(kinds(told)).toEqual(['applied']);
      await ship('b');
      expect([await isOpen(a, first), await isOpen(b, first)]).toEqual([false, false]);
      expect(await digests(a, [first, second])).toEqual(await digests(b, [first, second]));
    },
  );

  test.each(['steps', 'image'] as const)(
    'points at a run that ended, where its end points elsewhere and was heard of after the id was given back to it (%s)',
    async (by) => {
      const cells = await twoCells();
      const { a, b, ship } = cells;
      const { unheard, second } = await idGivenBack(cells);
      if (by === 'image') {
        const ended = await a.shards.replicas().image(unheard, forever);
        await b.shards.replicas().adopt(ended, asIs, forever);
      } else {
        await ship('a');
      }
      const pointer = await b.ownership.at(wf('w'), forever, ({ execution }) => execution.current);
      expect(pointer).toMatchObject({ runId: unheard.runId, epoch: 4 });
      expect(pointer.closedAt).toBeDefined();
      await expectEqual(cells, [unheard, second]);
    },
  );

  test('has one open run also where memory has forgotten the other one', async () => {
    const cells = await twoCells();
    const { a, b, ship, move } = cells;
    const { unheard, second } = await twoRuns(cells);
    await ship('a');
    await b.settle();
    b.ownership.memory.forget(unheard);
    move('4@4', 'b');
    await observe(a);
    await observe(b);
    await b.settle();
    expect(await isOpen(b, unheard)).toBe(false);
    await expectEqual(cells, [unheard, second]);
  });

  test('is not signaled under its stray run, which ends first', async () => {
    const cells = await twoCells();
    const { a, b, ship, move } = cells;
    const { unheard } = await twoRuns(cells);
    await ship('a');
    move('4@4', 'b');
    await observe(a);
    const signal = { kind: 'signal', requestId: 's', name: 'go', identity: 'client' } as const;
    await expect(b.ask('w', signal, unheard.runId)).rejects.toMatchObject({ code: 'not-found' });
    expect(await isOpen(b, unheard)).toBe(false);
  });

  test('keeps the run that it runs when the other one comes whole', async () => {
    const cells = await twoCells();
    const { a, b, losses } = cells;
    const { unheard, second } = await twoRuns(cells);
    const image = await b.shards.replicas().image(unheard, forever);
    expect(await a.shards.replicas().adopt(image, asIs, forever)).toEqual({ kind: 'lost' });
    expect(await isOpen(a, unheard)).toBe(false);
    expect(await currentOf(a)).toBe(second.runId);
    expect(losses.at(-1)).toMatchObject({
      execution: { runId: unheard.runId, outcome: 'superseded' },
    });
    await expectEqual(cells, [unheard, second]);
  });

  test('of one request answers with the run that stays, in every cell', async () => {
    const cells = await twoCells();
    const { a, b } = cells;
    const { unheard, second } = await twoRuns(cells, 'same');
    await cells.ship('b');
    expect(await isOpen(a, unheard)).toBe(false);
    await cells.ship('a');
    expect(tookIn(a, 'same')).toMatchObject({ runId: second.runId });
    expect(tookIn(b, 'same')).toMatchObject({ runId: second.runId });
    await expectEqual(cells, [unheard, second]);
  });

  test.each([
    ['the newer', [1, 0]],
    ['the older', [0, 1]],
  ] as const)(
    'points at the newer run in a replica, though %s one came first',
    async (_, order) => {
      const cells = await twoCells();
      const { a, b } = cells;
      const first = await started(a, 'first');
      const terminate = { kind: 'terminate', reason: 'why', identity: 'client' } as const;
      await a.ask('w', terminate);
      const second = await started(a, 'second');
      const images = [];
      for (const ref of [first, second]) {
        images.push(await a.shards.replicas().image(ref, forever));
      }
      for (const index of order) {
        const image = images[index];
        if (image) await b.shards.replicas().adopt(image, asIs, forever);
      }
      expect(await currentOf(b)).toBe(second.runId);
      await expectEqual(cells, [first, second]);
    },
  );

  test('can be started anew though the run that it points at never came', async () => {
    const cells = await twoCells();
    const { a, b, move } = cells;
    const first = await started(a, 'first');
    await a.ask('w', { kind: 'terminate', reason: 'why', identity: 'client' });
    await started(a, 'second');
    const image = await a.shards.replicas().image(first, forever);
    await b.shards.replicas().adopt(image, asIs, forever);
    move('2@2', 'b');
    await observe(b);
    const third = await started(b, 'third');
    const { state } = await b.shards.read(wf('w'), calling());
    expect(state.runId).toBe(third.runId);
  });
});

describe('an image of another run of a workflow id', () => {
  test('does not stand for requests of a branch that lost, which are applied again', async () => {
    const cells = await twoCells();
    const { a, b, ship, move } = cells;
    const first = await started(a, 'first');
    await ship('a');
    const signal = { kind: 'signal', requestId: 's', name: 'go', identity: 'client' } as const;
    await a.ask('w', signal);
    await a.ask('w', { kind: 'terminate', reason: 'why', identity: 'client' });
    const second = await started(a, 'second');
    const image = await a.shards.replicas().image(second, forever);
    move('2@2', 'b');
    await observe(b);
    await b.ask('w', { ...signal, requestId: 'other' });
    await b.shards.replicas().adopt(image, asIs, forever);
    const head = () => b.ownership.at(first, forever, ({ run }) => run.head);
    const before = (await head()).nextEventId;
    await ship('a');
    expect((await head()).nextEventId).toBeGreaterThan(before);
  });

  test('that comes late moves the pointer back neither as it is nor as a repair', async () => {
    const { a, b, ship } = await twoCells();
    const first = await started(a, 'first');
    const terminate = { kind: 'terminate', reason: 'why', identity: 'client' } as const;
    await a.ask('w', terminate);
    const second = await started(a, 'second');
    const late = await a.shards.replicas().image(first, forever);
    await a.ask('w', terminate);
    await ship('a');
    for (const repair of [false, true]) {
      const outcome = await b.shards.replicas().adopt(late, { repair }, forever);
      expect(outcome).toEqual({ kind: 'known' });
    }
    expect(await digests(b, [first, second])).toEqual(await digests(a, [first, second]));
  });

  test('whose branch wins leaves the pointer with what the other run came to', async () => {
    const cells = await twoCells();
    const { a, b, ship, move } = cells;
    const first = await started(a, 'first');
    await ship('a');
    await a.ask('w', { kind: 'terminate', reason: 'why', identity: 'client' });
    move('2@2', 'b');
    await observe(b);
    await b.ask('w', { kind: 'terminate', reason: 'why', identity: 'client' });
    move('3@3', 'a');
    await observe(a);
    const second = await started(a, 'second');
    await ship('a');
    await a.ask('w', { kind: 'terminate', reason: 'why', identity: 'client' });
    const winner = await b.shards.replicas().image(first, forever);
    await a.shards.replicas().adopt(winner, asIs, forever);
    await expectEqual(cells, [first, second]);
  });

  test('that ended in the other cell is not pointed at as open', async () => {
    const cells = await twoCells();
    const { a, b, ship, move } = cells;
    const { unheard, second } = await twoRuns(cells);
    await ship('a');
    await a.ask('w', { kind: 'terminate', reason: 'why', identity: 'client' });
    const ended = await a.shards.replicas().image(second, forever);
    move('4@4', 'b');
    await observe(b);
    const elsewhere = { ...ended.current, runId: unheard.runId, closedAt: undefined, epoch: 2 };
    await b.shards.replicas().adopt({ ...ended, current: elsewhere }, asIs, forever);
    const { current } = await b.ownership.at(wf('w'), forever, ({ execution }) => execution);
    expect(current.runId === second.runId && current.closedAt === undefined).toBe(false);
  });

  test('is taken also where memory has room for one run alone', async () => {
    const { a } = await twoCells();
    const first = await started(a, 'first');
    await a.ask('w', { kind: 'terminate', reason: 'why', identity: 'client' });
    const second = await started(a, 'second');
    const small = await new ShardLab().host({ cachedRunLimit: 1 });
    small.placement = placed('1@1');
    for (const ref of [second, first]) {
      const image = await a.shards.replicas().image(ref, forever);
      expect(await small.shards.replicas().adopt(image, asIs, forever)).toEqual({
        kind: 'applied',
      });
      await small.settle(2_000);
    }
    const late = await a.shards.replicas().image(first, forever);
    expect(await small.shards.replicas().adopt(late, asIs, forever)).toEqual({ kind: 'known' });
    expect(await currentOf(small)).toBe(second.runId);
  });
});
