/** RecordMarker: a fact that the workflow itself wants in its history (versions, side effects, local activities). */
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { CommandOf } from '../../../wire/events.ts';
import type { Draft } from '../draft.ts';
import { badCommand } from '../draft-change.ts';
import type { CommandContext, CommandsOutcome } from './command.ts';

const LONGEST_NAME = 1_000;

export function recordMarker(
  draft: Draft,
  command: CommandOf<'RecordMarker'>,
  context: CommandContext,
): CommandsOutcome {
  const { markerName = '', details, header, failure } = command.attributes;
  if (markerName === '' || markerName.length > LONGEST_NAME)
    return badCommand(
      WorkflowTaskFailedCause.BadRecordMarkerAttributes,
      `a marker's name must have 1 to ${LONGEST_NAME} characters, not ${markerName.length}`,
    );
  draft.emit(
    'MarkerRecorded',
    {
      markerName,
      details,
      header,
      failure,
      workflowTaskCompletedEventId: context.completedEventId,
    },
    { userMetadata: command.userMetadata },
  );
  return { kind: 'ok' };
}
