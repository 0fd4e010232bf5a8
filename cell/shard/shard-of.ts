/** Which shard of a cell holds a workflow id (D2). The rule is part of the data: it never changes. */
import { createHash } from 'node:crypto';
import type { ShardId } from '../storage/shard-log.ts';

/** First 4 bytes, big-endian, of SHA-256(namespace id, 0x00, workflow id), mod `count`. */
export function shardOf(namespaceId: string, workflowId: string, count: number): ShardId {
  const hash = createHash('sha256').update(`${namespaceId}\0${workflowId}`).digest();
  return (hash.readUInt32BE(0) % count) as ShardId;
}
