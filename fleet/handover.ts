/**
 * The three compare-and-sets of a planned switch (PROTOCOLS 8): into handover, and out of it by flip or by rollback.
 *
 * Invariants
 *  1. Flip and rollback compare the same record, `handover(move id)`, which exists at most once per move: exactly one of
 *     them happens, however late the other lands.
 *  2. A flip raises the epoch by one, a rollback leaves it; both leave `handover`.
 */
import type { EpochMs } from '../kernel/clock.ts';
import { FLEET_LIMITS } from './limits.ts';
import type { FleetMap, Namespace, Placement } from './map.ts';
import { moveById, type Move, type MoveOutcome } from './move.ts';
import {
  finished,
  toPhase,
  unknownMove,
  withMove,
  withoutAdded,
  type MoveRef,
} from './move-changes.ts';
import { liveNamespace, unknownNamespace } from './replicas.ts';
import { refuse, withNamespace, type Change } from './table.ts';

/** Closes the namespace at its source: from here on routers hold its calls. Asked by the driver alone. */
export function beginHandover(
  map: FleetMap,
  asked: MoveRef & { readonly driver: string; readonly at: EpochMs },
): Change {
  return inNamespace(map, asked, (namespace, move) => {
    if (move.driver?.id !== asked.driver) {
      return refuse('aborted', `Move ${move.id} is not driven by ${asked.driver}.`);
    }
    if (move.phase === 'handover') return { kind: 'unchanged' };
    const { placement } = namespace;
    const as = placement.active === move.from && placement.epoch === move.fromEpoch;
    if (move.phase !== 'reverse' || placement.state.kind !== 'active' || !as) {
      return refuse(
        'aborted',
        `Move ${move.id} is in ${move.phase} and cannot begin its handover.`,
      );
    }
    const state = { kind: 'handover', moveId: move.id, to: move.to } as const;
    const next: Move = { ...move, ...toPhase('handover', asked.at), handoverAt: asked.at };
    return withNamespace(map, withMove({ ...namespace, placement: { ...placement, state } }, next));
  });
}

/** Makes the target active at the next epoch. Who asks has seen gates, barriers and digests (admin/moves/flip.ts). */
export function flip(map: FleetMap, asked: MoveRef & { readonly at: EpochMs }): Change {
  return outOfHandover(map, asked, (namespace, move) => {
    const { placement } = namespace;
    const next: Placement = {
      ...placement,
      active: move.to,
      epoch: placement.epoch + 1,
      state: { kind: 'active' },
    };
    const moved = withMove(
      { ...namespace, placement: next },
      { ...move, ...toPhase('release', asked.at) },
    );
    const undone = move.backOf === undefined ? undefined : moveById(moved, move.backOf);
    if (undone?.phase !== 'settled') return moved;
    return withMove(moved, finished(undone, { at: asked.at, outcome: 'switched-back' }));
  });
}

/**
 * Makes the source go on at its epoch. An abort takes a replica out again that the move had added; after a handover that
 * was too slow it stays, so that the next try need not copy everything.
 */
export function rollBack(
  map: FleetMap,
  asked: MoveRef & {
    readonly at: EpochMs;
    readonly reason: string;
    readonly outcome: Extract<MoveOutcome, 'rolled-back' | 'aborted'>;
  },
): Change {
  return outOfHandover(map, asked, (namespace, move) => {
    const { placement: before } = namespace;
    const kept = asked.outcome === 'aborted' ? withoutAdded(before, move) : before;
    const placement: Placement = { ...kept, state: { kind: 'active' } };
    const reason = asked.reason.slice(0, FLEET_LIMITS.maxReasonLength);
    const next: Move = {
      ...move,
      ...toPhase('reopen', asked.at),
      outcome: asked.outcome,
      reason,
    };
    return withMove({ ...namespace, placement }, next);
  });
}

function outOfHandover(
  map: FleetMap,
  asked: MoveRef,
  change: (namespace: Namespace, move: Move) => Namespace,
): Change {
  return inNamespace(map, asked, (namespace, move) => {
    const { state } = namespace.placement;
    if (state.kind !== 'handover' || state.moveId !== move.id || move.phase !== 'handover') {
      const message = `Move ${move.id} is not in handover but in ${move.phase}: look at it again.`;
      return refuse('aborted', message);
    }
    return withNamespace(map, change(namespace, move));
  });
}

function inNamespace(
  map: FleetMap,
  asked: MoveRef,
  change: (namespace: Namespace, move: Move) => Change,
): Change {
  const namespace = liveNamespace(map, asked.namespaceId);
  if (namespace === undefined) return unknownNamespace(asked.namespaceId);
  const move = moveById(namespace, asked.moveId);
  return move === undefined ? unknownMove(namespace, asked.moveId) : change(namespace, move);
}
