/** A committed row as queue entries: each step encoded once, whatever the number of lanes that take it. */
import type { ReplicatedStep } from '../../cell/shard/replicas/replicas.ts';
import type { Seq, ShardId } from '../../cell/storage/shard-log.ts';
import type { LaneEntry } from './lane-queue.ts';
import { encodeReplicatedStep } from '../step-codec.ts';

export function entryOf(shard: ShardId, seq: Seq, step: ReplicatedStep): LaneEntry {
  const { workflowId, runId, number, epoch, at } = step.transition;
  return { shard, seq, workflowId, runId, number, epoch, at, bytes: encodeReplicatedStep(step) };
}
