/** The refusals that several inputs share, worded once. */
import { AtollError } from '../../kernel/errors.ts';
import type { Decision } from './decision.ts';
import type { RunState } from './state.ts';

/** The run is closed, and the call needs it open. */
export function refuseClosed(state: RunState): Decision {
  return {
    kind: 'refuse',
    error: new AtollError(
      'not-found',
      `workflow execution already completed: workflow "${state.workflowId}", run ${state.runId}`,
    ),
  };
}

export const OBSOLETE: Decision = { kind: 'answer', reply: { kind: 'obsolete' } };
export const DONE: Decision = { kind: 'answer', reply: { kind: 'done' } };
