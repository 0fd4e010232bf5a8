/** Step 3: every execution is held against the target; what differs is repaired and held against it again. */
import { MOVE_PACE, tryAgain, type Facts, type Step } from './facts.ts';

export function verify(facts: Facts): Step {
  const { verified, rounds } = facts;
  // The first look repairs nothing, so that a move of equal replicas writes nothing. Another one follows only on differences.
  if (verified === undefined)
    return { kind: 'ask', ask: { kind: 'verify', repair: rounds > 0, changed: false } };
  if (verified.kind === 'failed') return tryAgain(facts, verified, ['verified']);
  const { differences, repaired } = verified.value;
  // A repair is proven by the look after it. Runs that change all the while are held again in the handover.
  if (differences === 0) return { kind: 'advance', to: 'reverse' };
  const note = `${differences} executions differ, ${repaired} were repaired`;
  const ms = Math.min(MOVE_PACE.maxBackOffMs, MOVE_PACE.lookMs * 2 ** Math.min(rounds, 10));
  return { kind: 'wait', ms, note, forget: ['verified'] };
}
