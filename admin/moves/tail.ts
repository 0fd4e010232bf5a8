/** Step 2: the lane is near enough that a handover would be short, and nothing blocks it. */
import { ask, MOVE_PACE, tryAgain, type Facts, type Step } from './facts.ts';
import { laneBlocker, laneDelay } from './lane-trouble.ts';

export function tail(facts: Facts): Step {
  const { lane } = facts;
  if (lane === undefined) return ask('lane');
  if (lane.kind === 'failed') return tryAgain(facts, lane, ['lane']);
  // What is parked is repaired by the next step.
  const blocker = laneBlocker(lane.value);
  const skewed = blocker?.code === 'clock-skew' ? blocker : undefined;
  const trouble = skewed ?? laneDelay(lane.value);
  if (trouble === undefined) return { kind: 'advance', to: 'verify' };
  return { kind: 'wait', ms: MOVE_PACE.lookMs, note: trouble.says, forget: ['lane'] };
}
