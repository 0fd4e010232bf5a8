/** Step 4: the lane back works, and the lane there is still near and clean: the handover may begin. */
import { ask, MOVE_PACE, tryAgain, type Facts, type Step } from './facts.ts';
import { laneBlocker, laneDelay, laneSilence } from './lane-trouble.ts';

export function reverse(facts: Facts): Step {
  const { lane, reverse: back } = facts;
  if (back === undefined) return ask('reverse');
  if (back.kind === 'failed') return tryAgain(facts, back, ['reverse']);
  const silent = laneSilence(back.value);
  if (silent !== undefined) {
    const note = `the lane back: ${silent.says}`;
    return { kind: 'wait', ms: MOVE_PACE.lookMs, note, forget: ['reverse'] };
  }
  if (lane === undefined) return ask('lane');
  if (lane.kind === 'failed') return tryAgain(facts, lane, ['lane', 'reverse']);
  if (laneDelay(lane.value) !== undefined) return { kind: 'advance', to: 'tail' };
  const blocker = laneBlocker(lane.value) ?? laneSilence(lane.value);
  if (blocker === undefined) return { kind: 'begin-handover' };
  return { kind: 'wait', ms: MOVE_PACE.lookMs, note: blocker.says, forget: ['lane', 'reverse'] };
}
