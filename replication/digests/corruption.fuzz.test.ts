import { afterAll, describe, expect, test } from 'vitest';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import type { RunRef } from '../../cell/shard/engine.ts';
import {
  BESIDE_HISTORY,
  IN_HISTORY,
  LOST_ROWS,
  type Damage,
} from '../../cell/shard/testing/damage.ts';
import type { VerifyReport } from '../control/control.ts';
import type { ShardTables } from '../../cell/storage/memory/tables.ts';
import { finish, populate, TwoHosts } from '../testing/two-hosts.ts';

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const ROUNDS = 5;
/** Of each half in a round; every one hits another workflow id. */
const EACH_HALF = 10;
const HALVES = [IN_HISTORY, BESIDE_HISTORY];

/** Corruptions of replicas done, by kind. */
const done = new Map<string, number>(
  HALVES.flatMap((kinds) => Object.keys(kinds).map((kind) => [kind, 0] as const)),
);

type Planted = { readonly kind: string; readonly shows: readonly string[] };

/** Draws a kind of that half and a victim until one fits; workflow ids that are spoilt are left alone. */
function plant(
  half: Readonly<Record<string, Damage>>,
  runs: readonly RunRef[],
  given: {
    readonly spoilt: Set<string>;
    readonly rng: SeededRng;
    readonly stored: ShardTables;
    readonly done: Map<string, number>;
  },
): Planted {
  const { spoilt, rng, stored, done } = given;
  // The kind that was seen least, so that none is left to chance.
  const kinds = rng.shuffle(Object.keys(half));
  kinds.sort((one, other) => (done.get(one) ?? 0) - (done.get(other) ?? 0));
  for (const kind of kinds) {
    for (const run of rng.shuffle(runs)) {
      if (spoilt.has(run.workflowId)) continue;
      const shows = half[kind]?.({ stored, run, rng });
      if (shows === undefined) continue;
      spoilt.add(run.workflowId);
      done.set(kind, (done.get(kind) ?? 0) + 1);
      const all = runs.filter(({ workflowId }) => workflowId === run.workflowId);
      if (shows === 'all') return { kind, shows: all.map(({ runId }) => runId) };
      return { kind, shows: [shows === 'run' ? run.runId : shows.extra] };
    }
  }
  throw new Error('no run is left to spoil');
}

describe('a replica whose store was corrupted', () => {
  test.each(SEEDS)(
    'seed %i: every corruption is found, nobody else accused, all mended, and it works',
    async (seed) => {
      const rng = new SeededRng(seed);
      const hosts = await TwoHosts.open();
      await populate(hosts, 4);
      await hosts.ship();
      expect(await hosts.compare(false)).toMatchObject({ compared: 36, equal: 36, differences: 0 });
      for (let round = 0; round < ROUNDS; round += 1) {
        const runs = await hosts.runs();
        const spoilt = new Set<string>();
        const given = { spoilt, rng, stored: hosts.stored, done };
        const planted = HALVES.flatMap((half) =>
          Array.from({ length: EACH_HALF }, () => plant(half, runs, given)),
        );
        // Others go on meanwhile, and are not taken for damaged.
        const busy = `busy-${round % 4}`;
        const meanwhile = async () => {
          if (!spoilt.has(busy)) await hosts.a.signal(busy);
        };
        const found = await hosts.compare(false, meanwhile);
        const accused = accusedIn(found);
        const guilty = planted.flatMap(({ shows }) => shows).toSorted();
        const kinds = planted.map(({ kind }) => kind);
        expect({ kinds, accused }).toEqual({ kinds, accused: guilty });
        await hosts.ship();
        const mended = await hosts.compare(true);
        expect(mended).toMatchObject({ differences: guilty.length, repaired: guilty.length });
        await hosts.ship();
        expect(await hosts.compare(false)).toMatchObject({ differences: 0, moving: 0 });
      }
      await hosts.failOver(2);
      const open = (await hosts.runs()).filter(
        ({ workflowId }) => !workflowId.startsWith('ended') && !workflowId.startsWith('stray'),
      );
      for (const id of new Set(open.map(({ workflowId }) => workflowId))) {
        await finish(hosts.b, id);
      }
    },
    120_000,
  );

  afterAll(() => {
    const lines = [...done].map(([kind, count]) => `${String(count).padStart(4)}  ${kind}`);
    const total = [...done.values()].reduce((sum, count) => sum + count, 0);
    console.log(`${total} corruptions of ${done.size} kinds:\n${lines.join('\n')}`);
    expect(total).toBe(SEEDS.length * ROUNDS * EACH_HALF * 2);
    expect([...done].filter(([, count]) => count === 0)).toEqual([]);
  });
});

describe('an active cell whose store lost rows of runs that its memory holds', () => {
  test.each(SEEDS)(
    'seed %i: every one is told, none is taken for repaired, and the replica keeps what it has',
    async (seed) => {
      const rng = new SeededRng(seed);
      const hosts = await TwoHosts.open();
      await populate(hosts, 2);
      await hosts.ship();
      const { differences, compared } = await hosts.compare(false);
      expect({ differences, compared }).toEqual({ differences: 0, compared: 18 });
      const lost = new Map(Object.keys(LOST_ROWS).map((kind) => [kind, 0] as const));
      for (let round = 0; round < ROUNDS; round += 1) {
        const runs = await hosts.runs();
        const [spoilt, before] = [new Set<string>(), structuredClone(hosts.storedAt('a'))];
        const spoil = (id: 'a' | 'b') =>
          Array.from({ length: 4 }, () =>
            plant(LOST_ROWS, runs, { spoilt, rng, stored: hosts.storedAt(id), done: lost }),
          ).flatMap(({ shows }) => shows);
        const [here, there] = [spoil('a'), spoil('b')];
        const found = await hosts.compare(false);
        expect(accusedIn(found)).toEqual([...here, ...there].toSorted());
        expect(accusedIn(found, 'unstored')).toEqual(here.toSorted());
        const mended = await hosts.compare(true);
        expect(mended.repaired).toBe(there.length);
        expect(accusedIn(mended, 'unstored')).toEqual(here.toSorted());
        await hosts.ship();
        expect(await hosts.compare(false)).toMatchObject({ differences: here.length });
        // The replica has what the active cell had, as a backup of that one shows.
        restore(hosts.storedAt('a'), before);
        expect(await hosts.compare(false)).toMatchObject({ differences: 0, moving: 0 });
      }
      expect([...lost].filter(([, count]) => count === 0)).toEqual([]);
    },
    120_000,
  );
});

function accusedIn({ different }: VerifyReport, what?: string): readonly string[] {
  const accused = different.filter((one) => what === undefined || one.what === what);
  return accused.map(({ runId }) => runId).toSorted();
}

/** The rows of views alone: the log goes on. */
function restore(stored: ShardTables, from: ShardTables): void {
  for (const name of ['runs', 'executions', 'ledger', 'history', 'timers', 'tasks'] as const) {
    const rows: Map<string, unknown> = stored[name];
    rows.clear();
    for (const [key, row] of from[name]) rows.set(key, row);
  }
}
