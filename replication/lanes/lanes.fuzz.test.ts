/** Lanes under seeded faults: messages lost, unheard, late, doubled and so out of order; shards and processes that change. */
import { expect, test } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import type { ShardId } from '../../cell/storage/shard-log.ts';
import { NO_FAULT, type Fate } from '../testing/receiver-peer.ts';
import { namespaceOf } from '../testing/stub-map.ts';
import { NS, runRef, TwoCells, type CellOfTest } from '../testing/two-cells.ts';

const RUNS = 12;
/** What waits for long is not parked, so that a position alone says what is there. */
const NEVER_PARKED = { laterTries: 1e6, copyTries: 1e6 };
const SEEDS = Array.from({ length: 40 }, (_, i) => i + 1);
/** All faults seen over all seeds: a kind that never struck proves nothing. */
const struck = new Map<string, number>();

function fate(rng: SeededRng, harm: number): Fate {
  const draw = (name: string, chance: number) => {
    const hit = rng.chance(chance * harm);
    if (hit) struck.set(name, (struck.get(name) ?? 0) + 1);
    return hit;
  };
  return {
    lost: draw('lost', 0.2),
    unheard: draw('unheard', 0.2),
    againAfterMs: draw('again', 0.2) ? rng.integer(1, 400) : undefined,
    delayMs: draw('late', 0.2) ? rng.integer(50, 900) : 1,
  };
}

/** Every step in rows at or below a position is at the target, or covered by a letter of its run. */
function assertPositions(cells: TwoCells, written: ReadonlyMap<string, readonly number[]>): void {
  const { a, b } = cells;
  for (const { shard, seq } of cells.status().applied) {
    for (const [runId, seqs] of written) {
      if (a.replicas.shardOf(runId) !== (shard as ShardId)) continue;
      const acknowledged = seqs.filter((one) => one <= seq).length;
      expect(b.replicas.have(runId), `${runId} up to row ${seq}`).toBeGreaterThanOrEqual(
        acknowledged,
      );
    }
  }
}

test.each(SEEDS)(
  'seed %i: a position never passes what the target lacks, and both sides end equal',
  async (seed) => {
    const rng = new SeededRng(seed);
    const small = rng.chance(0.5);
    const cells = new TwoCells({
      seed,
      config: {
        ...NEVER_PARKED,
        ...(small
          ? { laneQueueBytes: 6_000, pushBytes: 2_000, pushItems: 7, logPageRows: 2 }
          : { pushItems: 20 }),
      },
    });
    const { a, b } = cells;
    const written = new Map<string, number[]>();
    a.out.fate = () => fate(rng, 1);
    b.out.fate = () => fate(rng, 1);
    for (let round = 0; round < 60; round += 1) {
      for (let k = rng.integer(0, 6); k > 0; k -= 1) {
        const ref = runRef(rng.integer(1, RUNS));
        a.replicas.write(ref, { epoch: 1, text: `t${round}` });
        const seqs = written.get(ref.runId) ?? [];
        written.set(ref.runId, [...seqs, a.replicas.end(a.replicas.shardOf(ref.runId))]);
      }
      await cells.clock.advanceSettled(rng.integer(1, 300));
      await disturb(rng, cells);
      assertPositions(cells, written);
    }
    a.out.fate = () => NO_FAULT;
    b.out.fate = () => NO_FAULT;
    for (const cell of [a, b]) {
      cell.replicas.failure = undefined;
      cell.replicas.undecided.clear();
      cell.replicas.later.clear();
    }
    await cells.settle();
    assertPositions(cells, written);
    expect(b.replicas.dump()).toEqual(a.replicas.dump());
    for (const shard of a.replicas.shards) a.replicas.checkpoint(shard);
    expect(a.replicas.shards.map((shard) => a.replicas.rowCount(shard))).toEqual([0, 0, 0, 0]);
    await cells.close();
  },
);

async function disturb(rng: SeededRng, cells: TwoCells): Promise<void> {
  const { a, b } = cells;
  const shard = rng.pick(a.replicas.shards);
  if (rng.chance(0.3)) a.replicas.checkpoint(shard);
  if (rng.chance(0.06)) a.replicas.reopen(shard);
  if (rng.chance(0.03)) await cells.restart('a');
  if (rng.chance(0.1)) a.replicas.failure = failing(rng, 0.3);
  if (rng.chance(0.1)) b.replicas.failure = failing(rng, 0.5);
  if (rng.chance(0.2)) a.replicas.failure = undefined;
  if (rng.chance(0.2)) b.replicas.failure = undefined;
  if (rng.chance(0.1)) b.replicas.undecided.add(`run-${rng.integer(1, RUNS)}`);
  if (rng.chance(0.1)) b.replicas.undecided.clear();
  if (rng.chance(0.15)) b.replicas.later.add(`run-${rng.integer(1, RUNS)}`);
  if (rng.chance(0.1)) b.replicas.later.clear();
}

function failing(rng: SeededRng, chance: number) {
  return () => (rng.chance(chance) ? new AtollError('unavailable', 'a shard is away') : undefined);
}

test.each(SEEDS.slice(0, 20))(
  'seed %i: after failovers both ways both sides hold one branch',
  async (seed) => {
    const rng = new SeededRng(seed * 1_000);
    const cells = new TwoCells({ seed, config: { ...NEVER_PARKED, laneBudgetMs: 8_000 } });
    const { a, b, map } = cells;
    let [active, epoch]: [CellOfTest, number] = [a, 1];
    a.out.fate = () => fate(rng, 1);
    b.out.fate = () => fate(rng, 1);
    for (let round = 0; round < 50; round += 1) {
      for (let k = rng.integer(0, 4); k > 0; k -= 1) {
        active.replicas.write(runRef(rng.integer(1, 6)), { epoch, text: `r${round}` });
      }
      await cells.clock.advanceSettled(rng.integer(1, 200));
      await disturb(rng, cells);
      if (rng.chance(0.1)) {
        epoch += 1;
        active = active === a ? b : a;
        map.set([namespaceOf(NS, { active: active === a ? 'a' : 'b', epoch })]);
      }
    }
    for (const cell of [a, b]) {
      cell.out.fate = () => NO_FAULT;
      cell.replicas.failure = undefined;
      cell.replicas.undecided.clear();
      cell.replicas.later.clear();
    }
    await cells.settle();
    expect(b.replicas.dump()).toEqual(a.replicas.dump());
    await cells.close();
  },
);

test('each kind of fault has struck', () => {
  expect([...struck.keys()].toSorted()).toEqual(['again', 'late', 'lost', 'unheard']);
  for (const count of struck.values()) expect(count).toBeGreaterThan(20);
});
