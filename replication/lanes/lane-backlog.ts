/**
 * What a lane tells its target that is missing there (D10). Pure.
 *
 * Invariants
 *  1. `pending` is 0 only where the target has everything: what is copied, or not yet read from the log, counts too.
 *  2. `oldestAt` is told only where every change before it has been acknowledged.
 */
import type { EpochMs } from '../../kernel/clock.ts';
import type { LaneBacklog } from '../peer.ts';
import type { LaneState } from './lane-state.ts';

/** `sent`: steps of the queue that go along with what is told. */
export function backlogOf(state: LaneState, sent = 0): LaneBacklog {
  const { namespaceId } = state.key;
  const { isCopying, isSeeded, copied } = state;
  const queued = state.queue.size - sent;
  const total = isCopying ? estimate(state) : 0;
  // A copy that seems to be through may still find runs.
  const uncopied = isCopying ? Math.max(1, total - copied) : 0;
  return {
    namespaceId,
    pending: queued + state.rowsBehind + uncopied,
    oldestAt: oldestOf(state, queued),
    copy: isCopying ? { copied, total, seeded: isSeeded } : undefined,
  };
}

function oldestOf({ queue, unfollowed }: LaneState, queued: number): EpochMs | undefined {
  const times = [...unfollowed, ...(queued > 0 ? [queue.oldestAt()] : [])];
  let oldest: EpochMs | undefined;
  for (const at of times) {
    if (at === undefined) return undefined;
    if (oldest === undefined || at < oldest) oldest = at;
  }
  return oldest;
}

/** Shards are alike: what is copied, scaled by the shards that are not done. */
function estimate({ shardCounts, copied }: LaneState): number {
  const { copying, all } = shardCounts;
  const done = all - copying;
  return done === 0 ? copied + 1 : Math.ceil((copied * all) / done);
}
