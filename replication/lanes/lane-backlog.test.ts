/** What a target is told to be missing, also where its lane does not know it step by step. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import { AtollError } from '../../kernel/errors.ts';
import { replicationConfig } from '../config.ts';
import { namespaceOf } from '../testing/stub-map.ts';
import { NS, runRef, TwoCells } from '../testing/two-cells.ts';
import { backlogOf } from './lane-backlog.ts';
import { LaneState } from './lane-state.ts';
import type { ShardCursor } from './shard-cursor.ts';

const seq = (n: number) => n as Seq;

describe('what a lane says is missing', () => {
  const tail: ShardCursor = { kind: 'tail' };
  const rows: readonly [string, readonly ShardCursor[], object][] = [
    ['follows', [tail, tail], { pending: 0 }],
    [
      'reads the log',
      [tail, { kind: 'behind', after: seq(2), at: 500 }],
      { pending: 7, oldestAt: 500 },
    ],
    ['reads the log, nobody knows since when', [{ kind: 'behind', after: seq(2) }], { pending: 7 }],
    [
      'copies what changed',
      [tail, { kind: 'copy', since: seq(3), at: 600 }],
      { pending: 1, oldestAt: 600, copy: { copied: 0, total: 0, seeded: true } },
    ],
    [
      'copies and reads',
      [
        { kind: 'behind', after: seq(2), at: 500 },
        { kind: 'copy', since: seq(3), at: 600 },
      ],
      { pending: 8, oldestAt: 500, copy: { seeded: true } },
    ],
    ['seeds', [tail, { kind: 'copy', since: seq(0) }], { pending: 1, copy: { seeded: false } }],
  ];
  it.each(rows)('where it %s', (_, cursors, expected) => {
    const ends = new Map(cursors.map((_one, shard) => [shard as ShardId, seq(9)]));
    const state = new LaneState({ namespaceId: 'n', target: 'b' }, ends, replicationConfig());
    for (const [shard, cursor] of cursors.entries()) state.place(shard as ShardId, cursor);
    const backlog = backlogOf(state);
    expect(backlog).toMatchObject(expected);
    expect(backlog.oldestAt).toBe('oldestAt' in expected ? expected.oldestAt : undefined);
    expect(backlog.copy === undefined).toBe(!('copy' in expected));
  });
});

describe('the estimate of a loss', () => {
  let cells: TwoCells;
  afterEach(() => cells.close());
  const breakTarget = () => {
    cells.b.replicas.failure = () => new AtollError('unavailable', 'shards are away');
  };
  const estimate = () => cells.b.reports.estimate('a', NS);
  const gauge = (name: string) => cells.a.metrics.value(`replication_${name}`, { target: 'b' });

  it('says since when changes are missing while the lane copies over its budget', async () => {
    cells = new TwoCells({ config: { laneBudgetMs: 10_000 } });
    await cells.settle();
    breakTarget();
    const since = cells.clock.now();
    for (let i = 0; i < 100; i += 1) cells.a.replicas.write(runRef(i), { epoch: 1, text: 'x' });
    await cells.clock.advanceSettled(5_000);
    expect(estimate()).toMatchObject({ knownMissing: 100, copy: undefined });
    await cells.clock.advanceSettled(20_000);
    expect(estimate()).toMatchObject({ lagMs: 25_000, copy: { seeded: true, since } });
    expect(estimate().knownMissing).toBeGreaterThan(0);
    expect(gauge('lag_ms')).toBeGreaterThan(20_000);
    expect(gauge('pending_steps')).toBeGreaterThan(0);
    cells.b.replicas.failure = undefined;
    await cells.settle();
    await cells.clock.advanceSettled(3_000);
    expect(estimate()).toMatchObject({ knownMissing: 0, lagMs: 0, copy: undefined });
    expect([gauge('lag_ms'), gauge('pending_steps')]).toEqual([0, 0]);
  });

  it('keeps since when that is through a restart of the source', async () => {
    cells = new TwoCells({ config: { laneBudgetMs: 10_000 } });
    await cells.settle();
    breakTarget();
    const since = cells.clock.now();
    cells.a.replicas.write(runRef(1), { epoch: 1, text: 'x' });
    await cells.clock.advanceSettled(20_000);
    for (const shard of cells.a.replicas.shards) cells.a.replicas.checkpoint(shard);
    await cells.restart('a');
    await cells.clock.advanceSettled(5_000);
    expect(estimate()).toMatchObject({ copy: { seeded: true, since } });
  });

  it('says that the replica was never whole while it is being seeded', async () => {
    cells = new TwoCells({ namespaces: [] });
    for (let i = 0; i < 600; i += 1) cells.a.replicas.write(runRef(i), { epoch: 1, text: 'old' });
    breakTarget();
    cells.map.set([namespaceOf(NS)]);
    await cells.clock.advanceSettled(5_000);
    expect(estimate()).toMatchObject({ copy: { seeded: false, since: undefined } });
    expect(estimate().knownMissing).toBeGreaterThan(0);
    expect(gauge('lag_ms')).toBeGreaterThan(3_000);
    cells.b.replicas.failure = undefined;
    await cells.settle();
    await cells.clock.advanceSettled(3_000);
    expect(estimate()).toMatchObject({ knownMissing: 0, copy: undefined });
  });

  it('leaves no backlog in the series of a target that no lane leads to any more', async () => {
    cells = new TwoCells();
    await cells.settle();
    breakTarget();
    for (let i = 0; i < 20; i += 1) cells.a.replicas.write(runRef(i), { epoch: 1, text: 'x' });
    await cells.clock.advanceSettled(5_000);
    expect(gauge('pending_steps')).toBe(20);
    cells.map.set([]);
    await cells.clock.advanceSettled(5_000);
    expect(['lanes', 'pending_steps', 'pending_bytes', 'lag_ms'].map(gauge)).toEqual([0, 0, 0, 0]);
  });

  it('knows nothing before it has heard of the source', async () => {
    cells = new TwoCells();
    expect(estimate()).toMatchObject({ unheard: true });
    await cells.clock.advanceSettled(2_000);
    expect(estimate()).toMatchObject({ unheard: false });
  });
});
