/** Step 1: the target is a replica now; its lane copies what there is. Done when the lane follows the log. */
import { ask, MOVE_PACE, tryAgain, type Facts, type Step } from './facts.ts';
import { laneDelay } from './lane-trouble.ts';

export function seed(facts: Facts): Step {
  const { lane } = facts;
  if (lane === undefined) return ask('lane');
  // The source may not have heard of its new replica yet.
  if (lane.kind === 'failed') return tryAgain(facts, lane, ['lane']);
  if (lane.value.kind === 'tail') return { kind: 'advance', to: 'tail' };
  const note = laneDelay(lane.value)?.says ?? 'copying';
  return { kind: 'wait', ms: MOVE_PACE.lookMs, note, forget: ['lane'] };
}
