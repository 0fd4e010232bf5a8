import { afterEach, describe, expect, it } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import { NO_FAULT } from '../testing/receiver-peer.ts';
import { namespaceOf } from '../testing/stub-map.ts';
import { NS, runRef, TwoCells } from '../testing/two-cells.ts';

describe('a lane', () => {
  let cells: TwoCells;
  const make = (options: ConstructorParameters<typeof TwoCells>[0] = {}) => {
    cells = new TwoCells(options);
    return cells;
  };
  afterEach(() => cells.close());

  it('brings each transition to a target with another shard count, and moves its position behind it', async () => {
    const { a, b } = make();
    await cells.settle();
    for (let i = 0; i < 50; i += 1) a.replicas.write(runRef(i % 7), { epoch: 1, text: `t${i}` });
    expect(cells.status().pending).toBe(50);
    await cells.settle();
    cells.expectSame();
    for (const { shard, seq } of cells.status().applied)
      expect(seq).toBe(a.replicas.end(shard as never));
    expect(b.replicas.have('run-0')).toBe(8);
  });

  it('lets the steps that commit while it rests share a push', async () => {
    const { a } = make({ config: { pushEveryMs: 20 } });
    await cells.settle();
    const before = a.out.calls.get('steps') ?? 0;
    for (let i = 0; i < 200; i += 1) {
      a.replicas.write(runRef(i % 7), { epoch: 1, text: `t${i}` });
      await cells.clock.advanceSettled(1);
    }
    await cells.settle();
    expect((a.out.calls.get('steps') ?? 0) - before).toBeLessThanOrEqual(11);
    cells.expectSame();
  });

  it('does not send back to a cell what that cell wrote', async () => {
    const { a, b } = make();
    await cells.settle();
    a.replicas.write(runRef(1), { epoch: 1, text: 'x' });
    await cells.settle();
    expect([a.out.steps, b.out.steps]).toEqual([1, 0]);
  });

  it('sends nothing of namespaces that the target does not keep', async () => {
    const { a } = make();
    await cells.settle();
    a.replicas.write(runRef(1, 'other'), { epoch: 1, text: 'x' });
    await cells.settle();
    expect(a.out.steps).toBe(0);
    expect(() => cells.a.sender.status({ namespaceId: 'other', target: 'b' })).toThrow('no lane');
  });

  it('copies more runs than one call may ask for, though no view holds them yet', async () => {
    const { a, map } = make({ namespaces: [] });
    a.replicas.unsaved = true;
    for (let i = 0; i < 4_500; i += 1) a.replicas.write(runRef(i), { epoch: 1, text: 'x' });
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    map.set([namespaceOf(NS)]);
    await cells.settle();
    expect(cells.status().kind).toBe('tail');
    cells.expectSame();
  });

  it('copies what was there before the namespace had the replica, then follows', async () => {
    const { a, map } = make({ namespaces: [] });
    for (let i = 0; i < 600; i += 1) a.replicas.write(runRef(i), { epoch: 1, text: 'old' });
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    map.set([namespaceOf(NS)]);
    expect(cells.status().kind).toBe('copy');
    await cells.settle();
    expect(cells.status().kind).toBe('tail');
    cells.expectSame();
    expect(a.out.steps).toBe(0);
    a.replicas.write(runRef(1), { epoch: 1, text: 'new' });
    await cells.settle();
    cells.expectSame();
    expect(a.out.steps).toBe(1);
  });

  it('keeps the log while its target is away, within its budget', async () => {
    const { a } = make();
    await cells.settle();
    cells.breakTarget();
    a.replicas.write(runRef(1), { epoch: 1, text: 'x' });
    const shard = a.replicas.shardOf('run-1');
    a.replicas.checkpoint(shard);
    expect(a.replicas.rowCount(shard)).toBe(1);
    cells.healTarget();
    await cells.settle();
    a.replicas.checkpoint(shard);
    expect(a.replicas.rowCount(shard)).toBe(0);
  });

  it('lets the log go and copies when it waits longer than its budget', async () => {
    const { a } = make({ config: { laneBudgetMs: 10_000 } });
    await cells.settle();
    cells.breakTarget();
    for (let i = 0; i < 20; i += 1) a.replicas.write(runRef(i), { epoch: 1, text: 'x' });
    await cells.clock.advanceSettled(12_000);
    expect(cells.status().kind).toBe('copy');
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    expect(a.replicas.shards.map((shard) => a.replicas.rowCount(shard))).toEqual([0, 0, 0, 0]);
    cells.healTarget();
    await cells.settle();
    cells.expectSame();
    expect(cells.status().kind).toBe('tail');
  });

  it('lets the log go and copies when its queue is full, also while it copies', async () => {
    const { a } = make({ config: { laneQueueBytes: 4_000, pushBytes: 1_000 } });
    await cells.settle();
    cells.breakTarget();
    for (let i = 0; i < 100; i += 1) a.replicas.write(runRef(i), { epoch: 1, text: 'x' });
    expect(cells.status().kind).toBe('copy');
    cells.healTarget();
    for (let i = 0; i < 60; i += 1) {
      for (let k = 0; k < 20; k += 1) a.replicas.write(runRef(i * 20 + k), { epoch: 1, text: 'y' });
      await cells.clock.advanceSettled(1);
    }
    await cells.settle();
    cells.expectSame();
    expect(cells.status().kind).toBe('tail');
    expect(a.metrics.value('replication_over_budget_total', { target: 'b' })).toBeGreaterThan(1);
  });

  it('asks for the image of a run with a gap, and the steps behind it follow once each', async () => {
    const { a, b } = make();
    await cells.settle();
    a.replicas.write(runRef(1), { epoch: 1, text: 'one' });
    await cells.settle();
    b.replicas.forget(runRef(1));
    for (const text of ['two', 'three']) a.replicas.write(runRef(1), { epoch: 1, text });
    a.replicas.write(runRef(2), { epoch: 1, text: 'beside' });
    await cells.settle();
    cells.expectSame();
    expect(a.out.calls.get('images')).toBe(1);
  });

  it('sends the run whole where a step is too large for a call', async () => {
    const { a } = make({ config: { pushBytes: 400, stepMaxBytes: 500 } });
    await cells.settle();
    for (const text of ['one', 'x'.repeat(1_000), 'three'])
      a.replicas.write(runRef(1), { epoch: 1, text });
    a.replicas.write(runRef(2), { epoch: 1, text: 'beside' });
    await cells.settle();
    cells.expectSame();
    expect(a.out.calls.get('images')).toBe(1);
  });

  it('lets a step that cannot be applied stop its own run alone, and repairs that by its image', async () => {
    const { a, b } = make();
    await cells.settle();
    for (const text of ['one', 'poison', 'three']) a.replicas.write(runRef(1), { epoch: 1, text });
    a.replicas.write(runRef(2), { epoch: 1, text: 'beside' });
    await cells.clock.advanceSettled(1_000);
    expect(b.replicas.have('run-2')).toBe(1);
    expect(b.replicas.have('run-1')).toBe(1);
    const lane = { namespaceId: NS, target: 'b' };
    const [letter] = await a.letters.list(lane, { repairedToo: false, limit: 10 });
    expect(letter).toMatchObject({ runId: 'run-1', transition: 2, reason: 'it is poison' });
    expect(cells.status()).toMatchObject({ parked: 1, deadLetters: 1, pending: 0 });

    await cells.clock.advanceSettled(15_000);
    cells.expectSame();
    expect(cells.status()).toMatchObject({ parked: 0, deadLetters: 0 });
    expect(await a.letters.list(lane, { repairedToo: true, limit: 10 })).toHaveLength(1);
    a.replicas.write(runRef(1), { epoch: 1, text: 'four' });
    await cells.settle();
    cells.expectSame();
  });

  it('lets a run of which somebody else is to decide wait alone, until that is done', async () => {
    const { a, b } = make();
    await cells.settle();
    b.replicas.undecided.add('run-1').add('run-2');
    const refs = [1, 2, 3, 4].map((n) => runRef(n));
    for (let i = 0; i < 10; i += 1) {
      a.replicas.writeMany(refs, { epoch: 1, text: `t${i}` });
      await cells.clock.advanceSettled(200);
      expect([1, 2, 3, 4].map((n) => b.replicas.have(`run-${n}`))).toEqual([0, 0, i + 1, i + 1]);
    }
    expect(cells.status()).toMatchObject({ kind: 'tail', pending: 20, deadLetters: 0, parked: 0 });
    b.replicas.undecided.delete('run-1');
    await cells.clock.advanceSettled(6_000);
    expect(cells.status().pending).toBe(10);
    b.replicas.undecided.clear();
    await cells.settle();
    cells.expectSame();
  });

  it('goes on with its steps while a copy waits for somebody else to decide of a run', async () => {
    const { a, b, map } = make({ namespaces: [] });
    for (let i = 0; i < 40; i += 1) a.replicas.write(runRef(i), { epoch: 1, text: 'old' });
    b.replicas.undecided.add('run-7');
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    map.set([namespaceOf(NS)]);
    await cells.clock.advanceSettled(2_000);
    expect(Object.keys(b.replicas.dump()).length).toBeGreaterThan(20);
    expect(cells.status()).toMatchObject({ kind: 'copy', deadLetters: 0 });
    b.replicas.undecided.clear();
    await cells.settle();
    expect(cells.status().kind).toBe('tail');
    cells.expectSame();
  });

  it('finds a step that breaks a whole push, by itself', async () => {
    const { a, b } = make();
    await cells.settle();
    const apply = b.replicas.apply.bind(b.replicas);
    b.replicas.apply = async (steps) => {
      if (steps.some(({ transition }) => transition.runId === 'run-3'))
        throw new AtollError('internal', 'it broke');
      return apply(steps);
    };
    for (let i = 0; i < 8; i += 1) a.replicas.write(runRef(i), { epoch: 1, text: 'x' });
    await cells.clock.advanceSettled(9_000);
    expect(cells.status()).toMatchObject({ parked: 1, pending: 0 });
    expect(Object.keys(b.replicas.dump())).toHaveLength(7);
  });

  it('knows its parked runs again after a restart, and repairs them then', async () => {
    const { a } = make();
    await cells.settle();
    for (const text of ['one', 'poison']) a.replicas.write(runRef(1), { epoch: 1, text });
    await cells.clock.advanceSettled(500);
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    await cells.restart('a');
    await cells.clock.advanceSettled(500);
    expect(cells.status().parked).toBe(1);
    await cells.clock.advanceSettled(15_000);
    expect(cells.status().parked).toBe(0);
    cells.expectSame();
  });

  it('ships a branch that lost, and takes over the one that won', async () => {
    const { a, b, map } = make();
    await cells.settle();
    a.replicas.write(runRef(1), { epoch: 1, text: 'common' });
    await cells.settle();
    a.out.fate = () => ({ ...NO_FAULT, lost: true });
    a.replicas.write(runRef(1), { epoch: 1, text: 'not replicated' });
    map.set([namespaceOf(NS, { active: 'b', epoch: 2 })]);
    b.replicas.write(runRef(1), { epoch: 2, text: 'goes on' });
    await cells.clock.advanceSettled(500);
    a.out.fate = () => NO_FAULT;
    await cells.settle();
    cells.expectSame();
    expect(a.replicas.dump()).toEqual({ 'run-1': '1@1common 2@2goes on' });
    expect(b.replicas.lostOf('run-1').length + a.replicas.lostOf('run-1').length).toBeGreaterThan(
      0,
    );
  });

  it('sends the run whole where a step lost there of a branch that leads here', async () => {
    const { a, b, map } = make({ config: { pushItems: 1 } });
    await cells.settle();
    a.replicas.write(runRef(1), { epoch: 1, text: 'common' });
    await cells.settle();
    for (const { out } of [a, b]) out.fate = () => ({ ...NO_FAULT, lost: true });
    a.replicas.write(runRef(1), { epoch: 1, text: 'late' });
    map.set([namespaceOf(NS, { active: 'b', epoch: 2 })]);
    b.replicas.write(runRef(1), { epoch: 2, text: 'between' });
    map.set([namespaceOf(NS, { active: 'a', epoch: 3 })]);
    b.replicas.acts = false;
    for (const text of ['wins', 'goes on']) a.replicas.write(runRef(1), { epoch: 3, text });
    for (const { out } of [a, b]) out.fate = () => NO_FAULT;
    await cells.settle();
    expect(cells.status()).toMatchObject({ kind: 'tail', pending: 0, parked: 0 });
    cells.expectSame();
    expect(a.replicas.dump()).toEqual({ 'run-1': '1@1common 2@1late 3@3wins 4@3goes on' });
  });

  it('sends what comes while it waits after a failure that had left it nothing to do', async () => {
    const { a } = make();
    await cells.settle();
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    const { letters } = a;
    const list = letters.list.bind(letters);
    letters.list = () => {
      letters.list = list;
      return Promise.reject(new AtollError('unavailable', 'the store is away'));
    };
    await cells.restart('a');
    await cells.clock.advanceSettled(1);
    a.replicas.write(runRef(1), { epoch: 1, text: 'x' });
    await cells.settle(5_000);
    cells.expectSame();
  });

  it('spends no more than its quota, and leaves the other lanes alone', async () => {
    const { a, b } = make({ namespaces: [NS, 'ns-2'], config: { laneItemsPerSecond: 100 } });
    await cells.settle();
    for (let i = 0; i < 2_000; i += 1) a.replicas.write(runRef(i), { epoch: 1, text: 'flood' });
    a.replicas.write(runRef('calm', 'ns-2'), { epoch: 1, text: 'x' });
    await cells.clock.advanceSettled(100);
    expect(b.replicas.have('run-calm')).toBe(1);
    await cells.clock.advanceSettled(4_900);
    const there = Object.keys(b.replicas.dump()).length;
    expect(there).toBeGreaterThan(400);
    expect(there).toBeLessThan(720);
  });

  it('tells its target that it lives and what it still holds', async () => {
    const { a, b } = make();
    await cells.settle();
    cells.breakTarget();
    for (let i = 0; i < 5; i += 1) a.replicas.write(runRef(i), { epoch: 1, text: 'x' });
    await cells.clock.advanceSettled(3_000);
    expect(b.reports.estimate('a', NS)).toMatchObject({ source: 'a', knownMissing: 5 });
    expect(b.reports.estimate('a', NS).lagMs).toBeGreaterThan(1_000);
    expect(b.reports.estimate('a', NS).heardMsAgo).toBeLessThan(1_100);
    expect(cells.status().acknowledgedMsAgo).toBeLessThan(1_100);
    cells.healTarget();
    await cells.settle();
    await cells.clock.advanceSettled(1_500);
    expect(b.reports.estimate('a', NS)).toMatchObject({ knownMissing: 0, lagMs: 0 });
  });

  it('tells its target that nothing is pending any more, also if no push says so', async () => {
    const { a, b } = make({ config: { pushItems: 1 } });
    a.replicas.write(runRef(1), { epoch: 1, text: 'x' });
    await cells.settle();
    b.replicas.forget(runRef(1));
    // The only push says that one is pending; the run's image settles it, and what the next probe says is lost.
    a.replicas.write(runRef(1), { epoch: 1, text: 'y' });
    a.replicas.write(runRef(1), { epoch: 1, text: 'z' });
    await cells.settle();
    cells.expectSame();
    expect(b.reports.estimate('a', NS).knownMissing).toBe(1);
    a.out.fate = (method) => ({ ...NO_FAULT, lost: method === 'probe' });
    await cells.clock.advanceSettled(1_500);
    a.out.fate = () => NO_FAULT;
    await cells.clock.advanceSettled(1_500);
    expect(b.reports.estimate('a', NS).knownMissing).toBe(0);
  });

  it('knows how far the clock of its target is ahead, at least', async () => {
    make();
    expect(cells.status().skewMs).toBeUndefined();
    await cells.clock.advanceSettled(2_500);
    expect(cells.status().skewMs).toBe(0);
    const probe = cells.b.receiver.probe.bind(cells.b.receiver);
    for (const aheadMs of [1_500, -1_500]) {
      cells.b.receiver.probe = (...args) => ({ now: probe(...args).now + aheadMs });
      await cells.clock.advanceSettled(2_500);
      const { skewMs = 0 } = cells.status();
      expect(Math.sign(skewMs)).toBe(Math.sign(aheadMs));
      expect(Math.abs(skewMs)).toBeGreaterThan(1_490);
      expect(Math.abs(skewMs)).toBeLessThanOrEqual(1_500);
    }
  });

  it('does nothing at all while no namespace is replicated', async () => {
    make({ namespaces: [] });
    await cells.clock.advanceSettled(10_000);
    expect(cells.clock.pendingCount).toBe(0);
    expect(cells.a.out.calls.size).toBe(0);
  });
});
