/**
 * Replay: a stored transition into the state of its run. Takeover, rebuild, standby and simulation use it.
 *
 * Invariants
 *  1. Transitions of a run are applied in order, each once: number = transition + 1 (P4).
 *  2. The first transition of a run begins with WorkflowExecutionStarted.
 */
import { invariant } from '../../../kernel/invariant.ts';
import type { RunState } from '../state.ts';
import type { Transition } from '../transition.ts';
import { newFold, openFold, sealFold, type Fold } from './fold-state.ts';
import { applyChange } from './fold.ts';

/** The state after a transition; `state` is undefined for the first of a run. */
export function applyTransition(state: RunState | undefined, transition: Transition): RunState {
  const before = state?.transition ?? 0;
  invariant(
    transition.number === before + 1,
    `transition ${transition.number} of run ${transition.runId} where ${before + 1} was due`,
  );
  const previous = transition.previousEpoch ?? transition.epoch;
  invariant(
    state === undefined || previous === state.epoch,
    `transition ${transition.number} of run ${transition.runId} follows epoch ${previous}, here is ${state?.epoch}`,
  );
  const [first] = transition.changes;
  let fold: Fold;
  if (state) fold = openFold(state, transition.epoch);
  else {
    invariant(
      first?.kind === 'WorkflowExecutionStarted',
      `run ${transition.runId} begins with ${first?.kind ?? 'nothing'}`,
    );
    fold = newFold(transition, first);
  }
  for (const change of transition.changes) applyChange(fold, change);
  return sealFold(fold, transition);
}
