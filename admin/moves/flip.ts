/**
 * What a flip needs (PROTOCOLS 8.2): every shard's gate, every barrier applied at the target, no dead letter or parked
 * run, equal digests. The flip itself is a compare-and-set (fleet/handover.ts).
 */
import type { LaneStatus, ShardBarrier } from '../../replication/control/control.ts';
import type { Facts } from './facts.ts';

export type Missing = {
  readonly what: 'gates' | 'barriers' | 'clean' | 'digests';
  readonly says: string;
};

/** What is missing still; undefined: flip. */
export function whyNotFlip({ barriers, lane, verified }: Facts): Missing | undefined {
  if (barriers?.kind !== 'answered') {
    return { what: 'gates', says: `the source has not closed all its shards${because(barriers)}` };
  }
  if (lane?.kind !== 'answered' || notApplied(barriers.value, lane.value).length > 0) {
    return { what: 'barriers', says: `the target has not applied all${because(lane)}` };
  }
  const { parked, deadLetters } = lane.value;
  if (parked > 0 || deadLetters > 0) {
    const says = `${parked} runs are parked and ${deadLetters} transitions lie in dead letters`;
    return { what: 'clean', says };
  }
  if (verified?.kind !== 'answered') {
    return { what: 'digests', says: `the executions are not compared${because(verified)}` };
  }
  const { differences, moving } = verified.value;
  if (differences === 0 && moving === 0) return undefined;
  const says = `${differences} executions differ and ${moving} change behind the gates`;
  return { what: 'digests', says };
}

/** The shards of which the target has not applied everything up to the gate. */
export function notApplied(
  barriers: readonly ShardBarrier[],
  lane: Pick<LaneStatus, 'applied'>,
): readonly number[] {
  const applied = new Map(lane.applied.map(({ shard, seq }) => [shard, seq]));
  return barriers
    .filter(({ shard, seq }) => (applied.get(shard) ?? -1) < seq)
    .map(({ shard }) => shard);
}

function because(answer: Facts['lane'] | Facts['barriers'] | Facts['verified']): string {
  return answer?.kind === 'failed' ? ` (${answer.message})` : '';
}
