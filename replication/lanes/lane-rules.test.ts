/** The pure rules of lanes: cursors, positions, quota, digests, the map. */
import { describe, expect, it } from 'vitest';
import type { RunDigest } from '../../cell/shard/replicas/replicas.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import { replicationConfig } from '../config.ts';
import { needsImage } from './copy-needs.ts';
import { compareDigests } from '../digests/digest-verdict.ts';
import { ImageParts } from '../receiver/image-parts.ts';
import { decodePositions, encodePositions, type SavedPosition } from './lane-positions.ts';
import { LaneState } from './lane-state.ts';
import { lanesOf, replicatedBetween, writtenBy } from './lanes-of-map.ts';
import { PushSlots } from './push-slots.ts';
import { Quota } from './quota.ts';
import { beginRound, overBudget, pageSent, takesRows } from './shard-cursor.ts';
import { rowsAfter } from './shard-feed.ts';
import { namespaceOf, StubMap } from '../testing/stub-map.ts';
import { runRef } from '../testing/two-cells.ts';

const seq = (n: number) => n as Seq;

describe('a cursor', () => {
  const dropped = { position: seq(7), at: 700 };
  const copy = { kind: 'copy', since: seq(3), at: 300 } as const;

  it('goes to copy from its position when the lane is over its budget', () => {
    expect(overBudget({ kind: 'tail' }, dropped)).toEqual({ kind: 'copy', since: 7, at: 700 });
    expect(overBudget({ kind: 'behind', after: seq(3), at: 300 }, dropped)).toEqual(copy);
    expect(overBudget(copy, dropped)).toEqual(copy);
  });

  it('follows again after a clean round, and begins another one after a dirty one', () => {
    const round = beginRound(copy, seq(9));
    expect(takesRows(round)).toBe(true);
    const second = pageSent(round, 'x');
    expect(second).toMatchObject({ since: 3, at: 300, round: { next: 'x' } });
    expect(pageSent(second, undefined)).toEqual({ kind: 'tail' });
    const dirty = overBudget(second, { position: seq(12), at: 1_200 });
    expect(takesRows(dirty)).toBe(false);
    expect(pageSent(dirty, undefined)).toEqual({ kind: 'copy', since: 9, at: 1_200 });
  });

  it('takes no rows before its round or while it waits for the log', () => {
    expect(takesRows({ kind: 'copy', since: seq(1) })).toBe(false);
    expect(takesRows({ kind: 'behind', after: seq(1) })).toBe(false);
  });
});

describe('what a run had in a row', () => {
  const ends = new Map([[0 as ShardId, seq(9)]]);
  const state = () => {
    const lane = new LaneState({ namespaceId: 'n', target: 'b' }, ends, replicationConfig());
    lane.lettersRead = true;
    return lane;
  };
  const upTo = { runId: 'r', seq: seq(5) };

  it('is brought once the position has passed it', () => {
    const lane = state();
    expect(lane.delivery(0 as ShardId, upTo)).toBe('steps');
    lane.place(0 as ShardId, { kind: 'tail' });
    expect(lane.delivery(0 as ShardId, upTo)).toBe('done');
    lane.place(0 as ShardId, { kind: 'copy', since: seq(4) });
    expect(lane.delivery(0 as ShardId, upTo)).toBe('runs');
  });

  it('is not brought by a dead letter, nor as long as it is not known which runs are parked', () => {
    const lane = state();
    lane.place(0 as ShardId, { kind: 'tail' });
    const parked = { workflowId: 'w', runId: 'r', letters: 1, repairs: 0, repairAt: 0 };
    lane.parked.set('r', parked);
    expect(lane.delivery(0 as ShardId, upTo)).toBe('runs');
    expect(lane.delivery(0 as ShardId, { ...upTo, runId: 'other' })).toBe('done');
    lane.parked.clear();
    lane.lettersRead = false;
    expect(lane.delivery(0 as ShardId, upTo)).toBe('runs');
  });
});

describe('saved positions', () => {
  it('come back as they were', () => {
    const positions: SavedPosition[] = [
      { namespaceId: 'n', target: 'b', kind: 'tail', seq: seq(7) },
      { namespaceId: 'n', target: 'c', kind: 'copy', seq: seq(0) },
      { namespaceId: 'n', target: 'd', kind: 'copy', seq: seq(5), at: 1_700_000_000_123 },
    ];
    expect(decodePositions(encodePositions(positions))).toEqual(positions);
    expect(encodePositions([])).toBeUndefined();
    expect(decodePositions(undefined)).toEqual([]);
  });

  it('of an unknown format are refused', () => {
    const bytes = encodePositions([{ namespaceId: 'n', target: 'b', kind: 'tail', seq: seq(7) }]);
    if (bytes) bytes[1] = 9;
    expect(() => decodePositions(bytes)).toThrow('format 9');
  });

  it('lead to a copy when the log no longer has the next row', () => {
    const row = (n: number) => ({ seq: seq(n), steps: [] });
    const after = (rows: number[], end: number) =>
      rowsAfter(rows.map(row), { after: seq(4), end: seq(end) });
    expect(after([4, 5], 5)).toEqual([row(5)]);
    expect(after([5, 6], 6)).toEqual([row(5), row(6)]);
    expect(after([5, 6], 5)).toEqual([row(5)]); // The last one was not heard of yet.
    expect(after([6], 6)).toBeUndefined();
    expect(after([], 5)).toBeUndefined();
    expect(after([5], 6)).toBeUndefined(); // Read no further.
    expect(after([5, 7], 7)).toBeUndefined();
  });
});

describe('a quota', () => {
  it('gives a second of burst, then its rate, and waits for a push that is worth while', () => {
    const quota = new Quota(100, 0);
    expect(quota.available(0)).toBe(100);
    quota.spend(130, 0);
    expect([quota.available(0), quota.waitMs(0)]).toEqual([0, 350]);
    expect(quota.available(350)).toBe(5);
    expect(quota.available(60_000)).toBe(100);
  });
});

describe('turns at a target', () => {
  it('are as many as there are slots, in order, and come back after failures and givings-up', async () => {
    const slots = new PushSlots(1);
    const order: string[] = [];
    const signal = new AbortController();
    let end = () => {};
    const first = slots.run(signal.signal, () => new Promise<void>((resolve) => (end = resolve)));
    const gone = new AbortController();
    const second = slots.run(gone.signal, async () => void order.push('second'));
    const third = slots.run(signal.signal, async () => {
      order.push('third');
      throw new Error('failed');
    });
    const fourth = slots.run(signal.signal, async () => void order.push('fourth'));
    gone.abort(new Error('gave up'));
    await expect(second).rejects.toThrow('gave up');
    end();
    await first;
    await expect(third).rejects.toThrow('failed');
    await fourth;
    expect(order).toEqual(['third', 'fourth']);
  });
});

describe('a copy', () => {
  const digest = (change: Partial<RunDigest> = {}): RunDigest => ({
    ...runRef(1),
    transition: 5,
    epoch: 2,
    history: 'h',
    state: 's',
    execution: 'e',
    ...change,
  });

  it.each<[string, RunDigest | undefined, boolean]>([
    ['a run that is missing', undefined, true],
    ['a run that is behind', digest({ transition: 4 }), true],
    ['a run that is ahead in the same epoch', digest({ transition: 6 }), false],
    ['a run that is equal', digest(), false],
    ['a run that differs inside', digest({ state: 'x' }), true],
    ['a run of an older epoch', digest({ epoch: 1, transition: 9 }), true],
    ['a branch that wins, which must keep ours', digest({ epoch: 3 }), true],
  ])('sends %s or not', (_, theirs, expected) => {
    expect(needsImage(digest(), theirs)).toBe(expected);
  });

  it.each<[RunDigest | undefined, RunDigest | undefined, boolean, string]>([
    [digest(), digest(), false, 'equal'],
    [digest(), digest({ history: 'x' }), false, 'history'],
    [digest(), digest({ execution: 'x' }), false, 'execution'],
    [digest(), digest({ transition: 4, history: 'x' }), false, 'moving'],
    [digest(), digest({ transition: 4, history: 'x' }), true, 'history'],
    [digest(), digest({ transition: 4 }), true, 'state'],
    [digest(), undefined, false, 'missing'],
    [undefined, digest(), false, 'extra'],
    [undefined, undefined, false, 'gone'],
  ])('%# compares at the same transition', (mine, theirs, stands, expected) => {
    expect(compareDigests(mine, theirs, { stands })).toBe(expected);
  });
});

describe('the map', () => {
  it('gives a cell a lane to each other replica, whoever is active', () => {
    const { map } = new StubMap([
      namespaceOf('n1', { active: 'b', replicas: ['a', 'b', 'c'] }),
      namespaceOf('n2', { replicas: ['a'] }),
      namespaceOf('n3', { replicas: ['b', 'c'] }),
      { ...namespaceOf('n4'), state: 'deleted' },
    ]);
    expect(lanesOf(map, 'a')).toEqual([
      { namespaceId: 'n1', target: 'b' },
      { namespaceId: 'n1', target: 'c' },
    ]);
  });

  it('says who wrote a transition of its epoch, and knows nothing of other epochs', () => {
    const namespace = namespaceOf('n', { active: 'b', epoch: 3 });
    expect(writtenBy(namespace, { epoch: 3, cell: 'b' })).toBe(true);
    expect(writtenBy(namespace, { epoch: 3, cell: 'a' })).toBe(false);
    expect(writtenBy(namespace, { epoch: 2, cell: 'b' })).toBe(false);
    expect(writtenBy(undefined, { epoch: 1, cell: 'b' })).toBe(false);
    expect(replicatedBetween(namespace, 'a', 'a')).toBe(false);
  });
});

describe('an image in parts', () => {
  const part = (upload: string, index: number, text: string, count = 2) => ({
    upload,
    index,
    count,
    bytes: Buffer.from(text),
  });

  it('comes out whole, its parts in order and once each', () => {
    const parts = new ImageParts({ halfImages: 2, imageMaxBytes: 100 });
    expect(parts.add(part('x', 1, 'world'))).toBeUndefined();
    expect(parts.add(part('x', 1, 'world'))).toBeUndefined();
    expect(Buffer.from(parts.add(part('x', 0, 'hello ')) ?? []).toString()).toBe('hello world');
  });

  it('leaves for a newer one, and is bounded in bytes and parts', () => {
    const parts = new ImageParts({ halfImages: 1, imageMaxBytes: 10 });
    parts.add(part('x', 0, 'old'));
    parts.add(part('y', 0, 'new'));
    expect(parts.add(part('x', 1, 'old'))).toBeUndefined();
    const two = new ImageParts({ halfImages: 5, imageMaxBytes: 10 });
    two.add(part('x', 0, 'eight ..'));
    two.add(part('y', 0, 'four'));
    expect(two.add(part('x', 1, '!'))).toBeUndefined();
    expect(two.add(part('y', 1, '!'))).toBeDefined();
    expect(() => parts.add(part('z', 0, 'more than ten'))).toThrow('imageMaxBytes');
    expect(() => parts.add(part('z', 2, 'x'))).toThrow('does not fit');
    expect(() => parts.add(part('z', 0, 'x', 1_000_000))).toThrow('1000000 parts');
  });
});

describe('the configuration', () => {
  it('asserts its ranges and relations', () => {
    expect(() => replicationConfig({ pushItems: 0 })).toThrow('pushItems is 0');
    expect(() => replicationConfig({ laneQueueBytes: 10 })).toThrow('pushBytes must not exceed');
    expect(() => replicationConfig({ imageMaxBytes: 10 })).toThrow('imagePartBytes');
  });
});
