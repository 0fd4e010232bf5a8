/**
 * Two digests of one run, held against each other (PROTOCOLS 10). Pure.
 *
 * Invariants
 *  1. Digests at different transitions say nothing, unless both sides stand still.
 *  2. What cannot be read equals nothing, not even its like; nor does what the store has lost, whatever memory holds.
 */
import { UNREADABLE, UNSTORED, type RunDigest } from '../../cell/shard/replicas/replicas.ts';
import type { DigestDifference } from '../control/control.ts';

export type DigestVerdict = DigestDifference['what'] | 'equal' | 'moving' | 'gone';

/** @param look.stands both sides were at these transitions at the look before, too */
export function compareDigests(
  mine: RunDigest | undefined,
  theirs: RunDigest | undefined,
  look: { readonly stands: boolean },
): DigestVerdict {
  if (mine === undefined) return theirs === undefined ? 'gone' : 'extra';
  if (mine.state === UNSTORED) return 'unstored';
  if (theirs === undefined || theirs.state === UNSTORED) return 'missing';
  if (!isReadable(mine) || !isReadable(theirs)) return 'unreadable';
  if (mine.transition !== theirs.transition || mine.epoch !== theirs.epoch) {
    if (!look.stands) return 'moving';
    return mine.history === theirs.history ? 'state' : 'history';
  }
  if (mine.history !== theirs.history) return 'history';
  if (mine.state !== theirs.state) return 'state';
  return mine.execution === theirs.execution ? 'equal' : 'execution';
}

function isReadable({ history, state, execution }: RunDigest): boolean {
  return ![history, state, execution].includes(UNREADABLE);
}
