import { describe, expect, it, vi } from 'vitest';
import type { Namespace } from '../fleet/map.ts';
import type { Move, MoveOutcome } from '../fleet/move.ts';
import { AtollError } from '../kernel/errors.ts';
import { silentLog } from '../kernel/log.ts';
import { SeededRng } from '../kernel/testing/seeded-rng.ts';
import { VirtualClock } from '../kernel/testing/virtual-clock.ts';
import { PlacementFollower } from './placement-follower.ts';
import { namespaceOf, StubMap } from './testing/stub-map.ts';

const HANDOVER = { state: { kind: 'handover', moveId: 'm1', to: 'b' } } as const;

function moved(namespace: Namespace, outcome?: MoveOutcome): Namespace {
  const move: Move = {
    ...{ id: 'm1', kind: 'planned', from: 'a', to: 'b', fromEpoch: 1, startedAt: 0 },
    ...{ phase: outcome === undefined ? 'handover' : 'reopen', phaseSince: 0 },
    ...{ maxPauseMs: 5_000, autoConfirm: true, outcome },
  };
  return { ...namespace, moves: [move] };
}

type Refuses = (revision: number) => boolean | string;

/** A follower in cell a whose shards write down which revision of the map they are told of; some they do not take. */
function follower(first: Namespace | readonly Namespace[], refuses: Refuses = () => false) {
  const map = new StubMap([first].flat());
  const clock = new VirtualClock();
  const told: number[] = [];
  const warnings: unknown[] = [];
  let asked = 0;
  const observe = async () => {
    const { revision } = map.map;
    asked += 1;
    const why = refuses(revision);
    if (why !== false) throw new AtollError('unavailable', why === true ? 'no owner' : why);
    told.push(revision);
  };
  const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
  const follows = new PlacementFollower({
    ...{ cellId: 'a', map, replicas: { observe }, clock, rng: new SeededRng(1), log },
  });
  return { map, clock, told, follows, warnings, asked: () => asked };
}

describe('shards are told where the map places a namespace', () => {
  it('once, whatever else changes in the map', async () => {
    const { map, clock, told } = follower(namespaceOf('n'));
    await clock.advanceSettled(1_000);
    map.set([namespaceOf('n'), namespaceOf('o')]);
    await clock.advanceSettled(1_000);
    map.set([{ ...namespaceOf('n'), description: 'another' }, namespaceOf('o')]);
    await clock.advanceSettled(1_000);
    expect(told).toEqual([1, 2]);
  });

  it('also when a move was rolled back of which this map showed no handover', async () => {
    const { map, clock, told } = follower(moved(namespaceOf('n')));
    await clock.advanceSettled(1_000);
    map.set([moved(namespaceOf('n'), 'rolled-back')]);
    await clock.advanceSettled(1_000);
    expect(told).toEqual([1, 2]);
  });

  it('also when a move was given up in its handover, and the namespace has one replica again', async () => {
    const { clock, told } = follower(moved(namespaceOf('n', { replicas: ['a'] }), 'aborted'));
    await clock.advanceSettled(1_000);
    expect(told).toEqual([1]);
  });

  it('never where it was placed here alone and never moved', async () => {
    const { clock, told } = follower(namespaceOf('n', { replicas: ['a'] }));
    await clock.advanceSettled(1_000);
    expect(told).toEqual([]);
  });

  it('again until all of them take it', async () => {
    let refuses = true;
    const { clock, told, follows } = follower(namespaceOf('n'), () => refuses);
    await clock.advanceSettled(2_000);
    refuses = false;
    await clock.advanceSettled(2_000);
    expect(told).toEqual([1]);
    follows.close();
  });

  it('again of an earlier placement when some may have taken one in between', async () => {
    const { map, clock, told } = follower(namespaceOf('n'), (revision) => revision === 2);
    await clock.advanceSettled(1_000);
    map.set([namespaceOf('n', HANDOVER)]);
    await clock.advanceSettled(1_000);
    map.set([namespaceOf('n')]);
    await clock.advanceSettled(1_000);
    expect(told).toEqual([1, 3]);
  });

  it('less and less often while they do not take it', async () => {
    const { clock, asked, follows } = follower(namespaceOf('n'), () => true);
    await clock.advanceSettled(60_000);
    expect(asked()).toBeGreaterThan(10);
    expect(asked()).toBeLessThan(25);
    follows.close();
  });

  it('at once of a newer placement, however long the wait for the older one', async () => {
    const { map, clock, told, follows } = follower(namespaceOf('n'), (revision) => revision === 1);
    await clock.advanceSettled(60_000);
    map.set([namespaceOf('n', { epoch: 2 })]);
    await clock.advanceSettled(1);
    expect(told).toEqual([2]);
    follows.close();
  });

  it('and log a reason once, for all namespaces and times', async () => {
    let reason = 'shard 3 is not served here';
    const names = Array.from({ length: 100 }, (_, i) => namespaceOf(`n-${i}`));
    const { clock, warnings, follows } = follower(names, () => reason);
    const process = vi.spyOn(globalThis.process, 'emitWarning');
    await clock.advanceSettled(60_000);
    expect(warnings).toMatchObject([{ error: reason }]);
    reason = 'the store is away';
    await clock.advanceSettled(60_000);
    expect(warnings).toMatchObject([{}, { error: reason }]);
    expect(process).not.toHaveBeenCalled();
    process.mockRestore();
    follows.close();
  });
});
