/** CancelWorkflowExecution: the run ends as canceled, because its worker says so. */
import type { CommandOf } from '../../../wire/events.ts';
import type { Draft } from '../draft.ts';
import type { CommandContext, CommandsOutcome } from './command.ts';

export function cancelRun(
  draft: Draft,
  command: CommandOf<'CancelWorkflowExecution'>,
  context: CommandContext,
): CommandsOutcome {
  draft.emit(
    'WorkflowExecutionCanceled',
    {
      details: command.attributes.details,
      workflowTaskCompletedEventId: context.completedEventId,
    },
    { userMetadata: command.userMetadata },
  );
  return { kind: 'ok' };
}
