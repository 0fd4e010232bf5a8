/** The fleet's words as messages of `atoll.admin.v1`. */
import { DEFAULT_REPLICATION, type Namespace } from '../../fleet/map.ts';
import type { Move } from '../../fleet/move.ts';
import type { LaneStatus, LossEstimate } from '../../replication/control/control.ts';
import type {
  LaneMessage,
  LossEstimateMessage,
  MoveMessage,
  NamespaceMessage,
} from '../../wire/atoll/admin.ts';
import type { Answer } from '../moves/facts.ts';

export function moveMessage(move: Move): MoveMessage {
  const { driver, addedReplica: _, handoverAt: _at, ...rest } = move;
  return { ...rest, driver: driver?.id };
}

export function namespaceMessage(namespace: Namespace): NamespaceMessage {
  const { placement, replication = DEFAULT_REPLICATION, moves = [] } = namespace;
  return {
    id: namespace.id,
    name: namespace.name,
    description: namespace.description,
    ownerEmail: namespace.ownerEmail,
    retentionMs: namespace.retentionMs,
    registeredAt: namespace.registeredAt,
    state: namespace.state,
    active: placement.active,
    replicas: placement.replicas,
    epoch: placement.epoch,
    placement: placement.state.kind,
    mode: replication.mode,
    policy: replication.policy,
    maxLagMs: replication.maxLagMs,
    moves: moves.map(moveMessage),
  };
}

export function laneMessage(
  ends: { from: string; to: string },
  lane: Answer<LaneStatus>,
): LaneMessage {
  if (lane.kind === 'failed') return { ...ends, kind: 'unreachable', why: lane.message };
  const { applied: _, skewMs: _skew, acknowledgedMsAgo = -1, ...rest } = lane.value;
  return { ...ends, ...rest, lagMs: Math.round(rest.lagMs), acknowledgedMsAgo };
}

export function estimateMessage({ copy, ...estimate }: LossEstimate): LossEstimateMessage {
  const [heardMsAgo, lagMs] = [Math.round(estimate.heardMsAgo), Math.round(estimate.lagMs)];
  const told = { ...estimate, heardMsAgo, lagMs };
  if (copy === undefined) return told;
  const { copied, total, seeded, since } = copy;
  return { ...told, copying: true, copied, total, unseeded: !seeded, since };
}
