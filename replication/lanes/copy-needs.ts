/**
 * Which runs of a copy have to be sent, by the digests of both sides (PROTOCOLS 10). Pure.
 *
 * Invariants
 *  1. Nothing is left out that the other side could need: a losing branch is sent too, so that it is kept there (PROTOCOLS 9).
 */
import type { RunDigest } from '../../cell/shard/replicas/replicas.ts';

/** Whether the other side needs the run's image. */
export function needsImage(mine: RunDigest, theirs: RunDigest | undefined): boolean {
  if (theirs === undefined || theirs.epoch !== mine.epoch) return true;
  // The same epoch has one writer: the longer one holds the shorter one.
  if (theirs.transition !== mine.transition) return theirs.transition < mine.transition;
  return !sameDigest(mine, theirs);
}

export function sameDigest(a: RunDigest, b: RunDigest): boolean {
  return (
    a.transition === b.transition &&
    a.epoch === b.epoch &&
    a.history === b.history &&
    a.state === b.state &&
    a.execution === b.execution
  );
}
