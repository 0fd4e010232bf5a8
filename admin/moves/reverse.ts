/**
 * Step 4: the lane back works, what changed since the executions were compared is compared, so that little of it is left for
 * the handover, and the lane there is still near and clean: the handover may begin.
 */
import { ask, MOVE_PACE, tryAgain, type Ask, type Facts, type Step } from './facts.ts';
import { laneBlocker, laneDelay, laneSilence } from './lane-trouble.ts';

/** Read only: what differs now is repaired by the step before. */
export const COMPARE_CHANGED: Ask = { kind: 'verify', repair: false, changed: true };

export function reverse(facts: Facts): Step {
  const { lane, reverse: back, verified, rounds } = facts;
  if (back === undefined) return ask('reverse');
  if (back.kind === 'failed') return tryAgain(facts, back, ['reverse']);
  const silent = laneSilence(back.value);
  if (silent !== undefined) {
    const note = `the lane back: ${silent.says}`;
    return { kind: 'wait', ms: MOVE_PACE.lookMs, note, forget: ['reverse'] };
  }
  if (verified === undefined) return { kind: 'ask', ask: COMPARE_CHANGED };
  if (verified.kind === 'failed') return tryAgain(facts, verified, ['verified', 'reverse']);
  const { compared, differences } = verified.value;
  if (differences > 0) return { kind: 'advance', to: 'tail' };
  if (compared > MOVE_PACE.maxChanged && rounds < MOVE_PACE.changedRounds) {
    const note = `${compared} executions had changed since they were compared`;
    return { kind: 'wait', ms: MOVE_PACE.drainLookMs, note, forget: ['verified'] };
  }
  if (lane === undefined) return ask('lane');
  if (lane.kind === 'failed') return tryAgain(facts, lane, ['lane', 'verified', 'reverse']);
  if (laneDelay(lane.value) !== undefined) return { kind: 'advance', to: 'tail' };
  const blocker = laneBlocker(lane.value) ?? laneSilence(lane.value);
  if (blocker === undefined) return { kind: 'begin-handover' };
  const forget = ['lane', 'verified', 'reverse'] as const;
  return { kind: 'wait', ms: MOVE_PACE.lookMs, note: blocker.says, forget };
}
