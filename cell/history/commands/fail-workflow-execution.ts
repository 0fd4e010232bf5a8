/** FailWorkflowExecution: the run ends with a failure, and its retry policy may make another run follow. */
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { CommandOf } from '../../../wire/events.ts';
import type { Draft } from '../draft.ts';
import { badCommand } from '../draft-change.ts';
import { retryRun } from '../run-retry.ts';
import type { CommandContext, CommandsOutcome } from './command.ts';

export function failRun(
  draft: Draft,
  command: CommandOf<'FailWorkflowExecution'>,
  context: CommandContext,
): CommandsOutcome {
  const { failure } = command.attributes;
  if (failure === undefined)
    return badCommand(
      WorkflowTaskFailedCause.BadFailWorkflowExecutionAttributes,
      'FailWorkflowExecution carries no failure',
    );
  const retry = retryRun(draft, failure);
  draft.emit(
    'WorkflowExecutionFailed',
    {
      failure,
      retryState: retry.retryState,
      workflowTaskCompletedEventId: context.completedEventId,
      newExecutionRunId: retry.runId,
    },
    { userMetadata: command.userMetadata },
  );
  return retry.step ? { kind: 'ok', next: [retry.step] } : { kind: 'ok' };
}
