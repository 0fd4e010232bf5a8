/**
 * The command RequestCancelActivityTask. What no worker has is canceled at once; a worker hears of it by its next
 * heartbeat and answers as it sees fit.
 *
 * Invariants
 *  1. A command that stands writes ActivityTaskCancelRequested: a replaying worker looks for it, even where the
 *     activity's end is already buffered and nothing is left to cancel (BEHAVIOURS 16).
 *  2. An activity with a cancel request has a worker: otherwise it is closed.
 */
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { CommandOf } from '../../../wire/events.ts';
import type { Payloads } from '../../../wire/plain.ts';
import {
  badCommand,
  changes,
  type BadCommand,
  type Changes,
  type DraftChange,
} from '../draft-change.ts';
import type { RunState } from '../state.ts';
import { closeActivity, closedBy } from './closing.ts';

/** What SDKs of the contract know as details of an activity that was canceled before a worker had it. */
const NOT_STARTED: Payloads = {
  payloads: [
    {
      metadata: { encoding: new TextEncoder().encode('json/plain') },
      data: new TextEncoder().encode('"ACTIVITY_ID_NOT_STARTED"'),
    },
  ],
};

/** Decides the command. `state.nextEventId` is the id that the first returned event gets. */
export function requestCancelActivity(
  state: RunState,
  command: CommandOf<'RequestCancelActivityTask'>,
  at: { readonly workflowTaskCompletedEventId: number; readonly identity: string },
): Changes | BadCommand {
  const scheduledEventId = command.attributes.scheduledEventId ?? 0;
  const activity = state.activities.get(scheduledEventId);
  if (!activity && !isEndBuffered(state, scheduledEventId))
    return bad(
      `no activity of scheduled event ${scheduledEventId} is pending: ` +
        'it was never scheduled, or its end is in the history already',
    );
  if (activity && activity.cancelRequestedEventId !== 0)
    return bad(
      `cancelling the activity of scheduled event ${scheduledEventId} was requested before, ` +
        `by event ${activity.cancelRequestedEventId}`,
    );
  const requested: DraftChange = {
    event: {
      kind: 'ActivityTaskCancelRequested',
      attributes: {
        scheduledEventId,
        workflowTaskCompletedEventId: at.workflowTaskCompletedEventId,
      },
    },
  };
  if (!activity || activity.started) return changes([requested]);
  return changes([
    requested,
    ...closeActivity(activity, {
      kind: 'ActivityTaskCanceled',
      attributes: {
        details: NOT_STARTED,
        identity: at.identity,
        latestCancelRequestedEventId: state.nextEventId,
      },
    }),
  ]);
}

function isEndBuffered(state: RunState, scheduledEventId: number): boolean {
  return state.buffered.some(
    (event) => closedBy({ kind: 'event-buffered', event }) === scheduledEventId,
  );
}

function bad(message: string): BadCommand {
  return badCommand(WorkflowTaskFailedCause.BadRequestCancelActivityAttributes, message);
}
