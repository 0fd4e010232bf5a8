/** Which shard of a cell holds a workflow id (D2). The rule is part of the data: it never changes. */
import { hash } from 'node:crypto';
import type { ShardId } from '../storage/shard-log.ts';

/** First 4 bytes, big-endian, of SHA-256(namespace id, 0x00, workflow id), mod `count`. */
export function shardOf(namespaceId: string, workflowId: string, count: number): ShardId {
  // In one call and as text: a hash object and a buffer cost five times as much, and every call comes through here.
  const digest = hash('sha256', `${namespaceId}\0${workflowId}`, 'hex');
  return (Number.parseInt(digest.slice(0, 8), 16) % count) as ShardId;
}
