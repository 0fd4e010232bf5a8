/**
 * The compare-and-set of a forced failover (PROTOCOLS 9): another replica becomes active at the next epoch, without a
 * barrier. Who asks has seen the estimated loss, or holds the namespace's standing policy.
 *
 * Invariant: whatever move runs is over with it; its flip or rollback, landing late, is refused.
 */
import type { EpochMs } from '../kernel/clock.ts';
import type { FleetMap } from './map.ts';
import { moveById, type Move } from './move.ts';
import { finished, withMove, type MoveRef } from './move-changes.ts';
import { liveNamespace, unknownNamespace } from './replicas.ts';
import { refuse, withNamespace, type Change } from './table.ts';

export type Failover = MoveRef & {
  readonly to: string;
  /** The epoch that was looked at; another one means that somebody was faster. */
  readonly epoch: number;
  readonly at: EpochMs;
  /** Who will tell the cells. */
  readonly driver: string;
  readonly reason: string;
};

/** Makes that replica active. Repeated with its move id, it changes nothing. */
export function failOver(map: FleetMap, asked: Failover): Change {
  const namespace = liveNamespace(map, asked.namespaceId);
  if (namespace === undefined) return unknownNamespace(asked.namespaceId);
  if (moveById(namespace, asked.moveId) !== undefined) return { kind: 'unchanged' };
  const { placement, name } = namespace;
  if (placement.epoch !== asked.epoch) {
    const message = `Namespace ${name} is at epoch ${placement.epoch}, not ${asked.epoch}: look at it again, then decide again.`;
    return refuse('aborted', message);
  }
  if (placement.active === asked.to) {
    return refuse('failed-precondition', `Namespace ${name} is active in ${asked.to} already.`);
  }
  if (!placement.replicas.includes(asked.to)) {
    const message = `Cell ${asked.to} keeps no copy of ${name}: choose one of ${placement.replicas.join(', ')}.`;
    return refuse('failed-precondition', message);
  }
  const { at, reason } = asked;
  const move: Move = {
    id: asked.moveId,
    kind: 'failover',
    from: placement.active,
    to: asked.to,
    fromEpoch: placement.epoch,
    startedAt: at,
    phase: 'release',
    phaseSince: at,
    maxPauseMs: 0,
    autoConfirm: true,
    driver: { id: asked.driver, beat: 1 },
    reason,
  };
  const open = (namespace.moves ?? []).filter((one) => one.phase !== 'finished');
  const over = open.reduce(
    (next, one) => withMove(next, finished(one, { at, outcome: overtakenOf(one) })),
    namespace,
  );
  const epoch = placement.epoch + 1;
  const next = { ...placement, active: asked.to, epoch, forcedEpoch: epoch };
  return withNamespace(
    map,
    withMove({ ...over, placement: { ...next, state: { kind: 'active' } } }, move),
  );
}

/** What was switched before stays switched; a rollback that is being told stays one. */
function overtakenOf(move: Move): NonNullable<Move['outcome']> {
  if (move.phase === 'reopen') return move.outcome ?? 'rolled-back';
  if (move.kind === 'failover') return 'failed-over';
  return move.phase === 'settled' ? 'confirmed' : 'overtaken';
}
