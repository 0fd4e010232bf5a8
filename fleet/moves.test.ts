import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFleetMap, encodeFleetMap } from './codec.ts';
import { must, twoCells } from './conformance/sample.ts';
import { failOver } from './failover.ts';
import { beginHandover, flip, rollBack } from './handover.ts';
import { FLEET_LIMITS } from './limits.ts';
import type { FleetMap, Namespace } from './map.ts';
import {
  abortBeforeHandover,
  advanceMove,
  beatMove,
  claimMove,
  endMove,
  releaseMove,
  startMove,
} from './move-changes.ts';
import { isRunning, NEXT_PHASES, type Move, type MovePhase } from './move.ts';
import { setReplicas, setReplication } from './replicas.ts';
import { registerCell, registerNamespace, goesBack, type Change } from './table.ts';
import { registration } from './conformance/sample.ts';

const at = 1_000;
const namespaceId = 'id-of-a';
const ref = { namespaceId, moveId: 'm1' };
const start = { ...ref, to: 'west', at, maxPauseMs: 5_000, autoConfirm: false };
const driver = 'admin-1';

function after(map: FleetMap, ...changes: readonly ((map: FleetMap) => Change)[]): FleetMap {
  return changes.reduce((now, change) => must(change(now)), map);
}

const started = (map: FleetMap) => startMove(map, start);
const claimed = (map: FleetMap) => claimMove(map, { ...ref, driver, seen: undefined });
const to =
  (phase: 'tail' | 'verify' | 'reverse' | 'settled') =>
  (map: FleetMap): Change =>
    advanceMove(map, { ...ref, driver, to: phase, at });
const handedOver = (map: FleetMap) => beginHandover(map, { ...ref, driver, at });
const flipped = (map: FleetMap) => flip(map, { ...ref, at });
const rolledBack = (map: FleetMap) =>
  rollBack(map, { ...ref, at, reason: 'slow', outcome: 'rolled-back' });

const inHandover = () =>
  after(twoCells('a'), started, claimed, to('tail'), to('verify'), to('reverse'), handedOver);
const only = (map: FleetMap) => map.namespaces[namespaceId] as Namespace;

describe('a planned move in the map', () => {
  it('makes the target a replica, goes through its phases and ends confirmed at the next epoch', () => {
    const map = after(inHandover(), flipped, to('settled'), (now) => endMove(now, { ...ref, at }));
    expect(only(map).placement).toEqual({
      active: 'west',
      replicas: ['east', 'west'],
      epoch: 2,
      state: { kind: 'active' },
    });
    expect(only(map).moves).toMatchObject([{ phase: 'finished', outcome: 'confirmed' }]);
  });

  it('flips or rolls back, whichever lands first, and the other is refused', () => {
    const [first, second] = [after(inHandover(), flipped), after(inHandover(), rolledBack)];
    expect(rolledBack(first)).toMatchObject({ kind: 'refused', code: 'aborted' });
    expect(flipped(second)).toMatchObject({ kind: 'refused', code: 'aborted' });
    expect(only(first).placement).toMatchObject({ active: 'west', epoch: 2 });
    expect(only(second).placement).toMatchObject({ active: 'east', epoch: 1 });
  });

  it('refuses the late flip of a move after the next one has begun its own handover', () => {
    const next = { namespaceId, moveId: 'm2' };
    const map = after(
      inHandover(),
      rolledBack,
      (now) => endMove(now, { ...ref, at }),
      (now) => startMove(now, { ...start, ...next }),
      (now) => claimMove(now, { ...next, driver, seen: undefined }),
      (now) => advanceMove(now, { ...next, driver, to: 'tail', at }),
      (now) => advanceMove(now, { ...next, driver, to: 'verify', at }),
      (now) => advanceMove(now, { ...next, driver, to: 'reverse', at }),
      (now) => beginHandover(now, { ...next, driver, at }),
    );
    expect(flipped(map)).toMatchObject({ kind: 'refused', code: 'aborted' });
  });

  it('is as before its start when it is given up, the replica that it added included', () => {
    const before = only(twoCells('a')).placement;
    const early = abortBeforeHandover(after(twoCells('a'), started), { ...ref, at, reason: 'no' });
    const late = rollBack(inHandover(), { ...ref, at, reason: 'no', outcome: 'aborted' });
    expect(only(must(early)).placement).toEqual(before);
    expect(only(must(late)).placement).toEqual(before);
  });

  it('is over when a failover is commanded, and its flip that lands late is refused', () => {
    const map = after(inHandover(), failover('f1', 1));
    expect(only(map).placement).toMatchObject({ active: 'west', epoch: 2 });
    expect(only(map).moves).toMatchObject([{ outcome: 'overtaken' }, { kind: 'failover' }]);
    expect(flipped(map)).toMatchObject({ kind: 'refused' });
    expect(failover('f2', 1)(map)).toMatchObject({ code: 'aborted' });
  });

  it('goes back by a move of its own, which ends the settled one only when it flips', () => {
    const back = { namespaceId, moveId: 'm2' };
    const steps = [
      (now: FleetMap) => startMove(now, { ...start, ...back, to: 'east', backOf: 'm1' }),
      (now: FleetMap) => claimMove(now, { ...back, driver, seen: undefined }),
      ...(['tail', 'verify', 'reverse'] as const).map(
        (phase) => (now: FleetMap) => advanceMove(now, { ...back, driver, to: phase, at }),
      ),
      (now: FleetMap) => beginHandover(now, { ...back, driver, at }),
    ];
    const map = after(inHandover(), flipped, to('settled'), ...steps);
    expect(only(map).moves).toMatchObject([{ phase: 'settled' }, { phase: 'handover' }]);
    const done = after(map, (now) => flip(now, { ...back, at }));
    expect(only(done).moves).toMatchObject([{ outcome: 'switched-back' }, { phase: 'release' }]);
    expect(only(done).placement).toMatchObject({ active: 'east', epoch: 3 });
  });
});

describe('the driver of a move', () => {
  const map = after(twoCells('a'), started, claimed);
  const claim = (who: string, seen: Move['driver']) =>
    claimMove(map, { ...ref, driver: who, seen });

  it('cannot be replaced while it beats', () => {
    expect(claim('admin-2', undefined)).toMatchObject({ code: 'aborted' });
    expect(claim('admin-2', { id: driver, beat: 0 })).toMatchObject({ code: 'aborted' });
    expect(must(claim('admin-2', { id: driver, beat: 1 }))).toBeDefined();
  });

  it('alone goes on with it', () => {
    const stolen = must(claim('admin-2', { id: driver, beat: 1 }));
    expect(to('tail')(stolen)).toMatchObject({ code: 'aborted' });
    expect(beatMove(stolen, { ...ref, driver, note: undefined })).toMatchObject({
      code: 'aborted',
    });
  });

  it('leaves it free when it stops', () => {
    const free = must(releaseMove(map, { ...ref, driver }));
    expect(must(claimMove(free, { ...ref, driver: 'admin-2', seen: undefined }))).toBeDefined();
  });
});

describe('a change that is refused', () => {
  const settled = after(inHandover(), flipped, to('settled'));
  const rows: readonly [string, Change, RegExp][] = [
    ['a second move', startMove(inHandover(), { ...start, moveId: 'm2' }), /under way/],
    ['a move beside an unconfirmed one', startMove(settled, { ...start, moveId: 'm2' }), /confirm/],
    ['a move to where it is', startMove(twoCells('a'), { ...start, to: 'east' }), /already/],
    ['a move to nowhere', startMove(twoCells('a'), { ...start, to: 'moon' }), /moon/],
    [
      'a pause beyond deadlines',
      startMove(twoCells('a'), { ...start, maxPauseMs: 60_000 }),
      /9000/,
    ],
    ['a failover to a cell without a copy', failover('f', 1)(twoCells('a')), /no copy/],
    ['confirming what is not settled', endMove(inHandover(), { ...ref, at }), /settled/],
    ['a handover out of order', beginHandover(twoCells('a'), { ...ref, driver, at }), /no move/],
    ['taking a needed cell out', setReplicas(settled, { namespaceId, replicas: [] }), /confirm it/],
    ['an unknown replica', setReplicas(settled, { namespaceId, replicas: ['moon'] }), /moon/],
    ['mode fenced', replication({ mode: 'fenced', policy: 'manual' }), /etcd/],
    ['policy auto', replication({ mode: 'available', policy: 'auto' }), /manual/],
    ['a lag of 0', replication({ mode: 'available', policy: 'manual', maxLagMs: 0 }), /fenced/],
  ];
  it.each(rows)('%s', (_, change, why) => {
    expect(change).toMatchObject({ kind: 'refused', message: expect.stringMatching(why) });
  });

  function replication(asked: object): Change {
    return setReplication(settled, { namespaceId, replication: asked as never });
  }
});

describe('a map of the older format', () => {
  it('is read as it is: no moves, default replication', () => {
    const text = encodeFleetMap(twoCells('a')).replace('"format": 2', '"format": 1');
    expect(decodeFleetMap(text)).toEqual({ kind: 'map', map: twoCells('a') });
  });
});

describe('any interleaving of what orchestrators, operators and late messages ask', () => {
  const ids = ['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8'] as const;
  const id = fc.constantFrom(...ids);
  const cell = fc.constantFrom('east', 'west', 'north');
  const who = fc.constantFrom('x', 'y');
  const late = fc.integer({ min: 0, max: 1 });
  const phase = fc.constantFrom(
    'tail' as const,
    'verify' as const,
    'reverse' as const,
    'settled' as const,
  );
  const asks: fc.Arbitrary<(map: FleetMap) => Change> = fc.oneof(
    fc
      .record({
        moveId: id,
        to: cell,
        back: fc.boolean(),
        autoConfirm: fc.boolean(),
      })
      .map(({ back, ...a }) => (map: FleetMap) => {
        const backOf = back
          ? only(map).moves?.find((one) => one.phase === 'settled')?.id
          : undefined;
        return startMove(map, { namespaceId, at, maxPauseMs: 500, backOf, ...a });
      }),
    fc.record({ moveId: id, driver: who }).map((a) => (map: FleetMap) => {
      const seen = only(map).moves?.find((move) => move.id === a.moveId)?.driver;
      return claimMove(map, { namespaceId, ...a, seen });
    }),
    { weight: 20, arbitrary: fc.constant((map: FleetMap) => goOn(map)) },
    fc
      .record({ moveId: id, driver: who, to: phase })
      .map((a) => (map: FleetMap) => advanceMove(map, { namespaceId, at, ...a })),
    fc
      .record({ moveId: id, driver: who })
      .map((a) => (map: FleetMap) => beginHandover(map, { namespaceId, at, ...a })),
    id.map((moveId) => (map: FleetMap) => flip(map, { namespaceId, moveId, at })),
    fc
      .record({ moveId: id, outcome: fc.constantFrom('aborted' as const, 'rolled-back' as const) })
      .map((a) => (map: FleetMap) => rollBack(map, { namespaceId, at, reason: 'r', ...a })),
    id.map(
      (moveId) => (map: FleetMap) =>
        abortBeforeHandover(map, { namespaceId, moveId, at, reason: 'r' }),
    ),
    id.map((moveId) => (map: FleetMap) => endMove(map, { namespaceId, moveId, at })),
    fc.record({ to: cell, late, n: fc.nat(20) }).map((a) => (map: FleetMap) => {
      const epoch = only(map).placement.epoch - a.late;
      const moveId = `f${a.n}`;
      return failOver(map, { namespaceId, at, driver: 'x', reason: 'r', to: a.to, epoch, moveId });
    }),
    fc
      .subarray(['east', 'west', 'north'])
      .map((replicas) => (map: FleetMap) => setReplicas(map, { namespaceId, replicas })),
  );

  it('keeps one active cell, lets epochs only grow, and decides each handover once', () => {
    const seen = { flips: 0, rollbacks: 0, failovers: 0 };
    fc.assert(
      fc.property(fc.array(asks, { minLength: 60, maxLength: 160, size: 'max' }), (steps) => {
        let map = threeCells();
        const left = new Map<string, MovePhase>();
        for (const step of steps) {
          const change = step(map);
          if (change.kind !== 'changed') continue;
          check(map, change.map, left);
          map = change.map;
          count(map, seen);
        }
        expect(decodeFleetMap(encodeFleetMap(map))).toEqual({ kind: 'map', map });
      }),
      { numRuns: 200, seed: 20_261_129 },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(20);
  });

  function count(
    map: FleetMap,
    seen: { flips: number; rollbacks: number; failovers: number },
  ): void {
    const last = only(map).moves?.at(-1);
    if (last?.phase === 'release') seen[last.kind === 'failover' ? 'failovers' : 'flips'] += 1;
    if (last?.phase === 'reopen') seen.rollbacks += 1;
  }
});

/** What its driver would ask next, so that walks come as far as a handover. */
function goOn(map: FleetMap): Change {
  const move = only(map).moves?.find(isRunning);
  const asked = { namespaceId, moveId: move?.id ?? 'm1', driver: move?.driver?.id ?? 'x', at };
  if (move?.phase === 'handover' && map.revision % 2 === 0) return flip(map, asked);
  if (move?.phase === 'handover') {
    return rollBack(map, { ...asked, reason: 'r', outcome: 'rolled-back' });
  }
  if (move?.phase === 'reverse') return beginHandover(map, asked);
  if (move !== undefined && move.driver === undefined && isRunning(move)) {
    return claimMove(map, { ...asked, seen: undefined });
  }
  const next = { seed: 'tail', tail: 'verify', verify: 'reverse', release: 'settled' } as const;
  const to = next[(move?.phase ?? 'seed') as keyof typeof next];
  return advanceMove(map, { ...asked, to: to ?? 'tail' });
}

/** What must hold between a map and the next; `left`: how each move left its handover. */
function check(before: FleetMap, map: FleetMap, left: Map<string, MovePhase>): void {
  expect(goesBack(before, map)).toBeUndefined();
  const [was, is] = [only(before), only(map)];
  const raised = is.placement.epoch - was.placement.epoch;
  expect(raised).toBe(is.placement.active === was.placement.active ? 0 : 1);
  expect(is.placement.replicas).toContain(is.placement.active);
  const moves = is.moves ?? [];
  const isForced = moves.some(
    (move) => move.kind === 'failover' && !was.moves?.some(({ id }) => id === move.id),
  );
  expect(is.placement.forcedEpoch).toBe(isForced ? is.placement.epoch : was.placement.forcedEpoch);
  const handovers = moves.filter((move) => move.phase === 'handover');
  const { state } = is.placement;
  expect(handovers.map((move) => move.id)).toEqual(state.kind === 'handover' ? [state.moveId] : []);
  expect(moves.filter(isRunning).length).toBeLessThanOrEqual(1);
  expect(moves.filter((move) => move.phase === 'settled').length).toBeLessThanOrEqual(1);
  expect(moves.length).toBeLessThanOrEqual(FLEET_LIMITS.maxMovesKept);
  for (const move of moves)
    checkMove(
      was.moves?.find((one) => one.id === move.id),
      move,
      left,
    );
}

function checkMove(was: Move | undefined, move: Move, left: Map<string, MovePhase>): void {
  if (was === undefined || was.phase === move.phase) return;
  const legal = [...NEXT_PHASES[was.phase], 'finished'];
  expect(legal).toContain(move.phase);
  expect(was.phase).not.toBe('finished');
  if (was.phase !== 'handover') return;
  expect(left.get(move.id)).toBeUndefined();
  left.set(move.id, move.phase);
}

function failover(moveId: string, epoch: number): (map: FleetMap) => Change {
  const asked = { namespaceId, moveId, to: 'west', epoch, at, driver, reason: 'east is dead' };
  return (map) => failOver(map, asked);
}

function threeCells(): FleetMap {
  const north = { region: 'n', address: '127.0.0.1:3', shards: 4 };
  const map = must(registerCell(twoCells(), 'north', north));
  return must(registerNamespace(map, { ...registration('a'), replicas: ['west'] }));
}
