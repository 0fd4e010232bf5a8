/** CompleteWorkflowExecution: the run ends with a result. */
import type { CommandOf } from '../../../wire/events.ts';
import type { Draft } from '../draft.ts';
import type { CommandContext, CommandsOutcome } from './command.ts';

export function completeRun(
  draft: Draft,
  command: CommandOf<'CompleteWorkflowExecution'>,
  context: CommandContext,
): CommandsOutcome {
  draft.emit(
    'WorkflowExecutionCompleted',
    {
      result: command.attributes.result,
      workflowTaskCompletedEventId: context.completedEventId,
    },
    { userMetadata: command.userMetadata },
  );
  return { kind: 'ok' };
}
