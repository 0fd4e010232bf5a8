/** How an ownership of a shard ends, and what its callers are told. */
import type { RangeId, ShardId } from '../storage/shard-log.ts';

/** `again`: memory is dropped and the shard takes over from itself (PROTOCOLS 1). */
export type Ending =
  | { readonly kind: 'lost'; readonly to: RangeId }
  | { readonly kind: 'hole' }
  | { readonly kind: 'again'; readonly cause: unknown }
  | { readonly kind: 'broken'; readonly cause: unknown }
  | { readonly kind: 'closed' };

export function describeEnding(shard: ShardId, ending: Ending): string {
  switch (ending.kind) {
    case 'lost':
      return `shard ${shard} was taken over by range ${ending.to}`;
    case 'hole':
      return `shard ${shard} stopped: the store lacks records that it had acknowledged`;
    case 'again':
      return `shard ${shard} does not know what became of its last record; it takes over from itself. Try again.`;
    case 'broken':
      return `shard ${shard} stopped: an invariant is broken`;
    case 'closed':
      return `shard ${shard} is closing`;
  }
}
