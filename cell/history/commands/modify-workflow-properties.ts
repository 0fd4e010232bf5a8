/** ModifyWorkflowProperties: the workflow changes its memo. */
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { CommandOf } from '../../../wire/events.ts';
import type { Draft } from '../draft.ts';
import { badCommand } from '../draft-change.ts';
import type { CommandContext, CommandsOutcome } from './command.ts';

export function modifyProperties(
  draft: Draft,
  command: CommandOf<'ModifyWorkflowProperties'>,
  context: CommandContext,
): CommandsOutcome {
  const { upsertedMemo } = command.attributes;
  if (upsertedMemo === undefined)
    return badCommand(
      WorkflowTaskFailedCause.BadModifyWorkflowPropertiesAttributes,
      'ModifyWorkflowProperties names no memo to change',
    );
  draft.emit(
    'WorkflowPropertiesModified',
    { workflowTaskCompletedEventId: context.completedEventId, upsertedMemo },
    { userMetadata: command.userMetadata },
  );
  return { kind: 'ok' };
}
