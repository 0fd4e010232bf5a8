/**
 * Changes of a move that switch nothing: start, drive, go on, give up, confirm. Pure like table.ts; what switches the
 * active cell is in handover.ts and failover.ts.
 *
 * Invariants
 *  1. One move runs at a time; a `back` may run beside the settled move that it undoes.
 *  2. Only its driver goes on with it; who has seen no beat for long may claim it (`claimMove` names what was seen).
 *  3. Giving up a move leaves placement as it was before its start, replicas included.
 */
import type { EpochMs } from '../kernel/clock.ts';
import { FLEET_LIMITS } from './limits.ts';
import type { FleetMap, Namespace, Placement } from './map.ts';
import {
  isRunning,
  moveById,
  NEXT_PHASES,
  runningMove,
  settledMove,
  type Move,
  type MoveDriver,
  type MoveOutcome,
  type MovePause,
  type MovePhase,
} from './move.ts';
import { liveNamespace, unknownNamespace } from './replicas.ts';
import { refuse, withNamespace, wrongReplicas, type Change } from './table.ts';

/** Names a move in the map. */
export type MoveRef = { readonly namespaceId: string; readonly moveId: string };

export type StartMove = MoveRef & {
  readonly to: string;
  readonly at: EpochMs;
  readonly maxPauseMs: number;
  readonly autoConfirm: boolean;
  /** The settled move that is to be undone. */
  readonly backOf?: string | undefined;
};

/** Starts a move to that cell, which becomes a replica if it is none. */
export function startMove(map: FleetMap, asked: StartMove): Change {
  const namespace = liveNamespace(map, asked.namespaceId);
  if (namespace === undefined) return unknownNamespace(asked.namespaceId);
  const known = moveById(namespace, asked.moveId);
  if (known !== undefined) return { kind: 'unchanged' };
  const wrong = wrongStart(map, namespace, asked);
  if (wrong !== undefined) return refuse('failed-precondition', wrong);
  const { placement } = namespace;
  const added = !placement.replicas.includes(asked.to);
  const move: Move = {
    id: asked.moveId,
    kind: asked.backOf === undefined ? 'planned' : 'back',
    from: placement.active,
    to: asked.to,
    fromEpoch: placement.epoch,
    startedAt: asked.at,
    phase: 'seed',
    phaseSince: asked.at,
    maxPauseMs: asked.maxPauseMs,
    autoConfirm: asked.autoConfirm,
    ...(added ? { addedReplica: true } : {}),
    ...(asked.backOf === undefined ? {} : { backOf: asked.backOf }),
  };
  const replicas = added ? [...placement.replicas, asked.to] : placement.replicas;
  return withNamespace(
    map,
    withMove({ ...namespace, placement: { ...placement, replicas } }, move),
  );
}

function wrongStart(map: FleetMap, namespace: Namespace, asked: StartMove): string | undefined {
  const { name, placement } = namespace;
  const { minPauseMs, maxPauseMs } = FLEET_LIMITS;
  const running = runningMove(namespace);
  if (running !== undefined)
    return `Move ${running.id} of ${name} is under way (${running.phase}): wait for it or abort it.`;
  const settled = settledMove(namespace);
  if (asked.backOf !== settled?.id) {
    if (settled === undefined)
      return `Move ${String(asked.backOf)} of ${name} is over, there is nothing to take back: move it back with a move of its own (atoll move start).`;
    return `Move ${settled.id} of ${name} waits to be confirmed: confirm it or go back first.`;
  }
  if (placement.active === asked.to) return `Namespace ${name} is active in ${asked.to} already.`;
  if (!(asked.maxPauseMs >= minPauseMs && asked.maxPauseMs <= maxPauseMs)) {
    return `The longest pause must be ${minPauseMs} to ${maxPauseMs} ms, not ${asked.maxPauseMs}.`;
  }
  return wrongReplicas(map, [...new Set([...placement.replicas, asked.to])]);
}

/**
 * Makes `driver` the one that drives. Free, or its own: at once. Another's: only if its beat is still `seen`, the one
 * that the caller has watched for longer than a lease.
 */
export function claimMove(
  map: FleetMap,
  asked: MoveRef & { readonly driver: string; readonly seen: MoveDriver | undefined },
): Change {
  return changeMove(map, asked, (move) => {
    if (!isRunning(move)) return refuse('failed-precondition', `Move ${move.id} does not run.`);
    const { driver } = move;
    const free = driver === undefined || driver.id === asked.driver;
    const silent = driver?.id === asked.seen?.id && driver?.beat === asked.seen?.beat;
    if (!free && !silent) return refuse('aborted', `Move ${move.id} is driven by ${driver.id}.`);
    return { ...move, driver: { id: asked.driver, beat: (driver?.beat ?? 0) + 1 } };
  });
}

/** A sign of life of its driver, with what the move waits for. */
export function beatMove(
  map: FleetMap,
  asked: MoveRef & { readonly driver: string; readonly note: string | undefined },
): Change {
  return asDriver(map, asked, (move, driver) => ({
    ...move,
    driver: { id: driver.id, beat: driver.beat + 1 },
    note: asked.note?.slice(0, FLEET_LIMITS.maxReasonLength),
  }));
}

/** Its driver stops: another may claim it at once. */
export function releaseMove(map: FleetMap, asked: MoveRef & { readonly driver: string }): Change {
  return asDriver(map, asked, (move) => ({ ...move, driver: undefined }));
}

/** To a next phase that switches nothing. */
export function advanceMove(
  map: FleetMap,
  asked: MoveRef & {
    readonly driver: string;
    readonly to: Extract<MovePhase, 'tail' | 'verify' | 'reverse' | 'settled'>;
    readonly at: EpochMs;
    readonly pauseMs?: number | undefined;
    readonly pause?: MovePause | undefined;
  },
): Change {
  return asDriver(map, asked, (move) => {
    if (move.phase === asked.to) return 'same';
    if (!NEXT_PHASES[move.phase].includes(asked.to)) {
      return refuse('aborted', `Move ${move.id} cannot go from ${move.phase} to ${asked.to}.`);
    }
    const pauseMs = asked.pauseMs ?? move.pauseMs;
    const pause = asked.pause ?? move.pause;
    const next: Move = { ...move, ...toPhase(asked.to, asked.at), pauseMs, pause };
    return isRunning(next) ? next : { ...next, driver: undefined };
  });
}

/** Ends a move whose placement is as its outcome says: settled → confirmed, reopened, failed over. */
export function endMove(
  map: FleetMap,
  asked: MoveRef & { readonly at: EpochMs; readonly reason?: string | undefined },
): Change {
  return changeMove(map, asked, (move) => {
    if (move.phase === 'finished') return 'same';
    const outcome = outcomeOf(move);
    if (outcome === undefined) {
      const message = `Move ${move.id} is in ${move.phase}: only a settled move can be confirmed, wait for it.`;
      return refuse('failed-precondition', message);
    }
    return finished(move, { ...asked, outcome });
  });
}

function outcomeOf(move: Move): MoveOutcome | undefined {
  if (move.phase === 'settled') return 'confirmed';
  if (move.phase === 'reopen') return move.outcome ?? 'rolled-back';
  if (move.phase === 'release' && move.kind === 'failover') return 'failed-over';
  return undefined;
}

/** Gives a move up that has not come to its handover: the placement is as before it. */
export function abortBeforeHandover(
  map: FleetMap,
  asked: MoveRef & { readonly at: EpochMs; readonly reason: string },
): Change {
  const namespace = liveNamespace(map, asked.namespaceId);
  if (namespace === undefined) return unknownNamespace(asked.namespaceId);
  const move = moveById(namespace, asked.moveId);
  if (move === undefined) return unknownMove(namespace, asked.moveId);
  if (!['seed', 'tail', 'verify', 'reverse'].includes(move.phase)) {
    const message = `Move ${move.id} is in ${move.phase} already: too late to give it up so.`;
    return refuse('failed-precondition', message);
  }
  const done = finished(move, { ...asked, outcome: 'aborted' });
  const placement = withoutAdded(namespace.placement, move);
  return withNamespace(map, withMove({ ...namespace, placement }, done));
}

/** The replicas as they were before the move. */
export function withoutAdded(placement: Placement, move: Move): Placement {
  if (move.addedReplica !== true) return placement;
  return { ...placement, replicas: placement.replicas.filter((cell) => cell !== move.to) };
}

/** The namespace with that move in place of its older state, or as its newest; finished ones beyond the bound leave. */
export function withMove(namespace: Namespace, move: Move): Namespace {
  const moves = namespace.moves ?? [];
  const next = moves.some((one) => one.id === move.id)
    ? moves.map((one) => (one.id === move.id ? move : one))
    : [...moves, move];
  let surplus = next.length - FLEET_LIMITS.maxMovesKept;
  const kept = next.filter((one) => one.phase !== 'finished' || surplus-- <= 0);
  return { ...namespace, moves: kept };
}

export function finished(
  move: Move,
  end: {
    readonly outcome: MoveOutcome;
    readonly at: EpochMs;
    readonly reason?: string | undefined;
  },
): Move {
  const reason = (end.reason ?? move.reason)?.slice(0, FLEET_LIMITS.maxReasonLength);
  const { driver: _driver, note: _note, ...rest } = move;
  return {
    ...rest,
    ...toPhase('finished', end.at),
    outcome: end.outcome,
    endedAt: end.at,
    ...(reason === undefined ? {} : { reason }),
  };
}

export function toPhase(
  phase: MovePhase,
  at: EpochMs,
): Pick<Move, 'phase' | 'phaseSince' | 'note'> {
  return { phase, phaseSince: at, note: undefined };
}

export function unknownMove(namespace: Namespace, id: string): Change {
  return refuse('not-found', `Namespace ${namespace.name} has no move ${id} in the fleet map.`);
}

type MoveChange = Move | 'same' | Change;

/** The change of one move that leaves the placement alone. */
export function changeMove(
  map: FleetMap,
  ref: MoveRef,
  change: (move: Move) => MoveChange,
): Change {
  const namespace = liveNamespace(map, ref.namespaceId);
  if (namespace === undefined) return unknownNamespace(ref.namespaceId);
  const move = moveById(namespace, ref.moveId);
  if (move === undefined) return unknownMove(namespace, ref.moveId);
  const next = change(move);
  if (next === 'same') return { kind: 'unchanged' };
  return 'phase' in next ? withNamespace(map, withMove(namespace, next)) : next;
}

function asDriver(
  map: FleetMap,
  asked: MoveRef & { readonly driver: string },
  change: (move: Move, driver: MoveDriver) => MoveChange,
): Change {
  return changeMove(map, asked, (move) => {
    if (move.driver?.id === asked.driver) return change(move, move.driver);
    const who = move.driver === undefined ? 'nobody' : move.driver.id;
    return refuse('aborted', `Move ${move.id} is driven by ${who}, not by ${asked.driver}.`);
  });
}
