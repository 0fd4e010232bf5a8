/** A lane as an admin sees it (control.ts). */
import type { ShardId } from '../../cell/storage/shard-log.ts';
import type { LaneStatus } from '../control/control.ts';
import { backlogOf } from './lane-backlog.ts';
import type { Lane } from './lane.ts';

export function laneStatus(
  { state }: Lane,
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
  const { copy, oldestAt } = backlogOf(state);
  const { copied = 0, total = 0 } = copy ?? {};
  const acknowledged = Math.max(state.heardMs ?? -Infinity, look.probedMs ?? -Infinity);
  let deadLetters = 0;
  for (const { letters } of parked.values()) deadLetters += letters;
  return {
    kind: copy ? 'copy' : 'tail',
    pending: copy ? Math.max(0, total - copied) : queue.size + state.rowsBehind,
    lagMs: oldestAt === undefined ? 0 : Math.max(0, look.now - oldestAt),
    copied,
    total,
    parked: parked.size,
    deadLetters,
    acknowledgedMsAgo: Number.isFinite(acknowledged) ? look.nowMs - acknowledged : undefined,
    skewMs: look.skewMs,
    applied: look.shards.map((shard) => ({ shard, seq: state.position(shard) ?? 0 })),
  };
}
