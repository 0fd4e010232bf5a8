import { describe, expect, it } from 'vitest';
import { CachedFleetMap } from '../../fleet/cached-map.ts';
import { must, twoCells } from '../../fleet/conformance/sample.ts';
import { abortMove } from './abort.ts';
import { startMove } from '../../fleet/move-changes.ts';
import { isRunning, type Move, type MovePhase } from '../../fleet/move.ts';
import { silentLog } from '../../kernel/log.ts';
import { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { VirtualClock } from '../../kernel/testing/virtual-clock.ts';
import { Orchestrator } from './orchestrator.ts';
import { FakeFleet } from './testing/fake-fleet.ts';

const SEEDS = 300;
const STEP_MS = 20;
const namespaceId = 'id-of-a';

type Tally = { ends: Map<string, number>; killedIn: Map<MovePhase, number> };

/** One move, from its start to its end, under kills, failures and late messages. */
async function run(seed: number, tally: Tally): Promise<void> {
  const clock = new VirtualClock();
  const rng = new SeededRng(seed);
  const asked = { namespaceId, moveId: 'm', to: 'west', at: clock.now(), autoConfirm: true };
  const maxPauseMs = rng.fraction() < 0.5 ? 800 : 6_000;
  const map = must(startMove(twoCells('a'), { ...asked, maxPauseMs }));
  const fleet = new FakeFleet(map, { clock, rng });
  fleet.trouble.failures = rng.fraction() < 0.3 ? 0 : 0.08;
  fleet.trouble.longestDelayMs = 2 + rng.fraction() * 40;
  fleet.trouble.laneSpeed = rng.fraction() < 0.3 ? 1 : 4;
  const orchestrators: Orchestrator[] = [];
  const move = () => fleet.namespace().moves?.[0] as Move;
  const abortAt = rng.fraction() < 0.3 ? Math.floor(rng.fraction() * 60) : -1;
  for (let step = 0; isRunning(move()) && step < 6_000; step++) {
    const troubled = step < 250;
    if (!troubled) fleet.trouble.failures = 0;
    if (orchestrators.length < 2) await startOne(fleet, `${seed}-${step}`, orchestrators);
    if (step === abortAt) void abort(fleet); // it takes virtual time, too
    if (troubled && rng.fraction() < 0.02) {
      const { phase } = move();
      tally.killedIn.set(phase, (tally.killedIn.get(phase) ?? 0) + 1);
      orchestrators.shift()?.kill();
    }
    fleet.live();
    await clock.advanceSettled(STEP_MS);
  }
  for (const one of orchestrators) one.kill();
  expect(['finished', 'settled']).toContain(move().phase);
  expect(fleet.broken).toEqual([]);
  checkEnd(fleet, move(), tally);
}

async function startOne(fleet: FakeFleet, driverId: string, all: Orchestrator[]): Promise<void> {
  const { clock } = fleet;
  const opened = CachedFleetMap.open({ store: fleet, log: silentLog, clock }).catch(() => {});
  for (let i = 0; i < 300; i++) {
    const map = await Promise.race([opened, clock.advanceSettled(STEP_MS).then(() => 'waiting')]);
    if (map === undefined) return;
    if (typeof map === 'string') continue;
    const ports = { map, cells: fleet, clock, log: silentLog, driverId };
    const one = new Orchestrator(ports, { leaseMs: 600, beatMs: 200, lookMs: 100 });
    one.start();
    all.push(one);
    return;
  }
}

async function abort(fleet: FakeFleet): Promise<void> {
  const map = await fleet.read().catch(() => undefined);
  if (map === undefined) return;
  const change = abortMove(map, { namespaceId, moveId: 'm', at: 0, reason: 'a person' });
  if (change.kind !== 'changed') return;
  const never = new AbortController().signal;
  await fleet.compareAndSet(map.revision, change.map, never).catch(() => {});
}

/** Moved, or all as before; never between. */
function checkEnd(fleet: FakeFleet, move: Move, tally: Tally): void {
  const { placement } = fleet.namespace();
  const outcome = move.outcome ?? 'none';
  tally.ends.set(outcome, (tally.ends.get(outcome) ?? 0) + 1);
  const moved = outcome === 'confirmed';
  const [active, passive] = moved ? ['west', 'east'] : ['east', 'west'];
  expect(['confirmed', 'rolled-back', 'aborted']).toContain(outcome);
  expect(placement).toMatchObject({ active, epoch: moved ? 2 : 1, state: { kind: 'active' } });
  if (outcome === 'aborted') expect(placement.replicas).toEqual(['east']);
  else expect(placement.replicas).toEqual(['east', 'west']);
  fleet.cell(active as string).readMap();
  expect(fleet.cell(active as string).open).toBe(true);
  expect(fleet.cell(passive as string).open).toBe(false);
  if (moved) expect(move.pauseMs).toBeGreaterThan(0);
}

describe('a move whose orchestrators are killed at any step', () => {
  it(`ends moved or as before, and loses nothing, on seeds 1 to ${SEEDS}`, async () => {
    const tally: Tally = { ends: new Map(), killedIn: new Map() };
    for (let seed = 1; seed <= SEEDS; seed++) {
      await run(seed, tally).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error });
      });
    }
    const phases = ['seed', 'tail', 'verify', 'reverse', 'handover', 'release'] as const;
    expect([...tally.killedIn.keys()]).toEqual(expect.arrayContaining([...phases]));
    const ends = ['confirmed', 'rolled-back', 'aborted'];
    expect([...tally.ends.keys()].toSorted()).toEqual(ends.toSorted());
  });
});
