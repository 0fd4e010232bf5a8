/**
 * Membership `single`: one host serves every shard of its cell. A host that is fenced does not take back: it stops
 * serving and says who took over (PROTOCOLS 2).
 */
import type { ShardId } from '../storage/shard-log.ts';

/** All shards of a cell with `count` of them. */
export function allShards(count: number): readonly ShardId[] {
  return Array.from({ length: count }, (_, shard) => shard as ShardId);
}
