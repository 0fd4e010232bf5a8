/** UpsertWorkflowSearchAttributes: the workflow changes what it is found by. Whether names exist is the namespace's matter. */
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { CommandOf } from '../../../wire/events.ts';
import type { Draft } from '../draft.ts';
import { badCommand } from '../draft-change.ts';
import type { CommandContext, CommandsOutcome } from './command.ts';

export function upsertSearchAttributes(
  draft: Draft,
  command: CommandOf<'UpsertWorkflowSearchAttributes'>,
  context: CommandContext,
): CommandsOutcome {
  const { searchAttributes } = command.attributes;
  if (Object.keys(searchAttributes?.indexedFields ?? {}).length === 0)
    return badCommand(
      WorkflowTaskFailedCause.BadSearchAttributes,
      'UpsertWorkflowSearchAttributes names no attribute to change',
    );
  draft.emit(
    'UpsertWorkflowSearchAttributes',
    { workflowTaskCompletedEventId: context.completedEventId, searchAttributes },
    { userMetadata: command.userMetadata },
  );
  return { kind: 'ok' };
}
