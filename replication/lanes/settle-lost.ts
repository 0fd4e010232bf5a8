/**
 * What lost at a target that does not act (PROTOCOLS 9): its inputs are applied again by the cell that acts, and nowhere else.
 *
 * Invariants
 *  1. Nothing that lost counts as settled before the acting cell has it, or another lane leads there.
 *  2. What lost there and not here waits for the run's image: the branch here is another one since, which may win there.
 */
import type { ApplyOutcome, Replicas } from '../../cell/shard/replicas/replicas.ts';
import { timed, type LaneParts } from './lane-parts.ts';

/** `ours`: it is of the branch that this cell has, and acts on. `open`: somebody is still to decide of it. */
export type Elsewhere = 'settled' | 'ours' | 'open';

/** The same, where what fails is open still: it holds up nothing else. @throws the signal's reason once the lane is closed */
export async function settledOrOpen(
  parts: LaneParts,
  apply: (replicas: Replicas, signal: AbortSignal) => Promise<ApplyOutcome | undefined>,
): Promise<Elsewhere> {
  try {
    return await settledElsewhere(parts, apply);
  } catch {
    parts.signal.throwIfAborted();
    return 'open';
  }
}

/**
 * What becomes of it. If this cell acts it applies what lost itself, once its own branch has given way; if a third one
 * does, the lane to that one brings it.
 */
async function settledElsewhere(
  parts: LaneParts,
  apply: (replicas: Replicas, signal: AbortSignal) => Promise<ApplyOutcome | undefined>,
): Promise<Elsewhere> {
  const { cellId, map, state, replicas } = parts;
  const { namespaceId, target } = state.key;
  const active = map.namespaceById(namespaceId)?.placement.active;
  if (active === target) return 'open';
  if (active !== cellId) return 'settled';
  const outcome = await timed(parts, 'settling what lost', (signal) => apply(replicas, signal));
  if (outcome?.kind === 'known') return 'ours';
  return outcome?.kind === 'lost' ? 'settled' : 'open';
}
