/**
 * What a claim is worth, pure (PROTOCOLS 1, 4): both adapters fetch the evidence, and judge it here.
 *
 * Invariant: `mine` means that every seq that the owner was told is committed is there or below the checkpoint, and
 * that nobody else has taken the next one (P2, P13).
 */
import type { Claim, RangeId, Seq, Verdict } from './shard-log.ts';

/** What the store holds of a shard, in one snapshot. */
export type Evidence = {
  /** Of the shard's own row: who claimed it last. */
  readonly owner: RangeId;
  readonly checkpoint: Seq;
  /** Range of the row at the claim's committed seq. */
  readonly here: RangeId | undefined;
  /** Range of the row after it. */
  readonly next: RangeId | undefined;
};

/**
 * Holds a claim against the store. A row of an older range at the committed seq is not the row that was acknowledged.
 * Where that row is gone, only a checkpoint of my own stands for it: a successor on a promoted standby that lacked my
 * newest rows took over below them, and its checkpoint may have passed them since.
 */
export function verdictOn(claim: Claim, { owner, checkpoint, here, next }: Evidence): Verdict {
  if (next !== undefined && next !== claim.range) return { kind: 'lost', to: next };
  if (checkpoint < (claim.checkpoint ?? 0)) {
    return owner === claim.range ? { kind: 'hole' } : { kind: 'lost', to: owner };
  }
  if (checkpoint >= claim.committed) {
    return owner === claim.range ? { kind: 'mine' } : { kind: 'lost', to: owner };
  }
  if (here === undefined || here < claim.range) return { kind: 'hole' };
  return here === claim.range ? { kind: 'mine' } : { kind: 'lost', to: here };
}
