/** A lane as an admin sees it (control.ts). */
import type { ShardId } from '../../cell/storage/shard-log.ts';
import type { LaneStatus } from '../control/control.ts';
import type { Lane } from './lane.ts';

export function laneStatus(
  { state, heardMs }: Lane,
  look: {
    readonly shards: readonly ShardId[];
    /** Monotonic time of the target's last answer to a probe. */
    readonly probedMs: number | undefined;
    /** How far the target's clock is ahead of ours, at least. */
    readonly skewMs: number | undefined;
    readonly nowMs: number;
    readonly now: number;
  },
): LaneStatus {
  const { queue, parked } = state;
  const isCopying = state.isCopying;
  const total = isCopying ? estimate(state) : 0;
  const oldestAt = queue.oldestAt();
  const acknowledged = Math.max(heardMs ?? -Infinity, look.probedMs ?? -Infinity);
  let deadLetters = 0;
  for (const { letters } of parked.values()) deadLetters += letters;
  return {
    kind: isCopying ? 'copy' : 'tail',
    pending: isCopying ? Math.max(0, total - state.copied) : queue.size + state.rowsBehind,
    lagMs: oldestAt === undefined ? 0 : Math.max(0, look.now - oldestAt),
    copied: isCopying ? state.copied : 0,
    total,
    parked: parked.size,
    deadLetters,
    acknowledgedMsAgo: Number.isFinite(acknowledged) ? look.nowMs - acknowledged : undefined,
    skewMs: look.skewMs,
    applied: look.shards.map((shard) => ({ shard, seq: state.position(shard) ?? 0 })),
  };
}

/** Shards are alike: what is copied, scaled by the shards that are not done. */
function estimate(state: Lane['state']): number {
  const { copying, all } = state.shardCounts;
  const done = all - copying;
  return done === 0 ? state.copied + 1 : Math.ceil((state.copied * all) / done);
}
