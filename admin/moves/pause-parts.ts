/**
 * Where the time goes while calls are held: each part ends with a fact that the handover waits for (flip.ts). Pure;
 * drive-move.ts looks after each answer and each change of the map, and the move keeps the parts.
 *
 * Invariants
 *  1. A part is measured once, from the end of the part before it.
 *  2. A driver that took the move over knows only the parts that end under it.
 */
import type { MovePause, MovePhase } from '../../fleet/move.ts';
import type { Facts } from './facts.ts';
import { whyNotFlip, type Missing } from './flip.ts';

export type PauseParts = {
  readonly parts: MovePause;
  /** Monotonic time at which the last part ended. */
  readonly sinceMs: number;
};

type Part = Exclude<keyof MovePause, 'compared'>;

const ORDER: readonly Part[] = ['gatesMs', 'drainMs', 'compareMs', 'switchMs', 'openMs'];

/** The first part that is not over, by what a flip still lacks. */
const OPEN_PART: Readonly<Record<Missing['what'], Part>> = {
  gates: 'gatesMs',
  barriers: 'drainMs',
  clean: 'compareMs',
  digests: 'compareMs',
};

/** The parts with those that are over by now. */
export function pauseParts(
  pause: PauseParts,
  seen: { readonly phase: MovePhase; readonly facts: Facts; readonly nowMs: number },
): PauseParts {
  const { phase, facts, nowMs } = seen;
  const open = openPart(phase, facts);
  if (open === undefined) return pause;
  const over = ORDER.slice(0, open === 'none' ? ORDER.length : ORDER.indexOf(open));
  const last = over.at(-1);
  if (last === undefined || pause.parts[last] !== undefined) return pause;
  const compared =
    last === 'compareMs' && facts.verified?.kind === 'answered'
      ? { compared: facts.verified.value.compared }
      : {};
  const parts = { ...pause.parts, [last]: Math.round(nowMs - pause.sinceMs), ...compared };
  return { parts, sinceMs: nowMs };
}

/** Undefined outside of a pause. */
function openPart(phase: MovePhase, facts: Facts): Part | 'none' | undefined {
  if (phase === 'release') return facts.target?.kind === 'answered' ? 'none' : 'openMs';
  if (phase !== 'handover') return undefined;
  const missing = whyNotFlip(facts);
  return missing === undefined ? 'switchMs' : OPEN_PART[missing.what];
}
