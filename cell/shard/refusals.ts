/** Errors of the shards that clients see, with the details that SDKs map. */
import { AtollError } from '../../kernel/errors.ts';
import type { Target } from './engine.ts';

export function executionNotFound(target: Target): AtollError {
  const run = target.runId === undefined ? '' : `, run ${target.runId}`;
  return new AtollError(
    'not-found',
    `workflow execution not found: id "${target.workflowId}"${run}`,
    {
      detail: { type: 'NotFoundFailure', value: {} },
    },
  );
}
