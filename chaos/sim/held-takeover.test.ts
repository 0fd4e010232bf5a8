import { expect, test } from 'vitest';
import type { StoreStatement } from '../../cell/storage/memory/store-faults.ts';
import type { ShardId } from '../../cell/storage/shard-log.ts';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { drawWeather, Faults } from './faults.ts';
import { HeldTakeover } from './held-takeover.ts';
import { FAULTS, Tally } from './tally.ts';
import { Trace } from './trace.ts';
import { WorldTime } from './world-time.ts';

const DEADLINE_MS = 1_000;
const TAKEOVERS = 200;
const STEPS = ['claim', 'position', 'append', 'tail', 'read'] as const;

/** What becomes of the steps of many takeovers: how long each was held, in the order of sending. */
function takeovers(active: boolean) {
  const time = new WorldTime();
  const tally = new Tally(FAULTS);
  const still = { ...drawWeather(new SeededRng(1)) };
  for (const fault of Object.keys(still)) Object.assign(still, { [fault]: 0 });
  const faults = new Faults({
    rng: new SeededRng(1),
    weather: still,
    tally,
    trace: new Trace(time),
  });
  faults.active = active;
  const rivals: ShardId[] = [];
  const held = Array.from({ length: TAKEOVERS }, (_, index) => {
    const rng = new SeededRng(index);
    const onHeld = (shard: ShardId) => void rivals.push(shard);
    const holding = new HeldTakeover({ faults, rng, time, deadlineMs: DEADLINE_MS, onHeld });
    return STEPS.map((kind) => {
      const fate = holding.fateOf({ kind, shards: [0 as ShardId], rows: [] } as StoreStatement);
      return fate.kind === 'ok' ? (fate.landMs ?? 0) : Number.NaN;
    });
  });
  return { held, rivals, counted: tally.counts.get('takeover held up') };
}

test('some takeovers are held up in one step, within its deadline, and a rival is called each time', () => {
  const { held, rivals, counted } = takeovers(true);
  const delayed = held.filter((steps) => steps.some((ms) => ms > 0));
  expect(delayed.length).toBeGreaterThan(TAKEOVERS / 10);
  expect(delayed.length).toBeLessThan(TAKEOVERS / 2);
  for (const steps of delayed) {
    expect(steps.filter((ms) => ms > 0)).toHaveLength(1);
    expect(Math.max(...steps)).toBeLessThan(DEADLINE_MS);
  }
  const inStep = (step: (typeof STEPS)[number]) =>
    delayed.some((steps) => (steps[STEPS.indexOf(step)] ?? 0) > 0);
  expect(STEPS.filter(inStep)).toEqual(['claim', 'position', 'tail', 'read']);
  expect(rivals).toHaveLength(delayed.length);
  expect(counted).toBe(delayed.length);
});

test('once faults have ended no takeover is held up', () => {
  const { held, rivals } = takeovers(false);
  expect(held.flat().every((ms) => ms === 0)).toBe(true);
  expect(rivals).toEqual([]);
});
