/**
 * The command ScheduleActivityTask: what is refused, and the event with every default filled in.
 *
 * Invariants
 *  1. An activity id is pending at most once in a run.
 *  2. The scheduled event holds all four timeouts, the retry policy and the task queue: nothing is defaulted later.
 */
import { TaskQueueKind, WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { CommandOf } from '../../../wire/events.ts';
import type { HistoryLimits } from '../decision.ts';
import { badCommand, changes, type BadCommand, type Changes } from '../draft-change.ts';
import { normaliseRetryPolicy } from '../retry-policy.ts';
import type { RunState } from '../state.ts';
import { findById } from './claim.ts';
import { activityTimeouts } from './timeouts.ts';

const MOST_ID_LENGTH = 1_000;

/** Decides the command. `state` is the draft's, so earlier commands of the same task count. */
export function scheduleActivity(
  state: RunState,
  command: CommandOf<'ScheduleActivityTask'>,
  at: {
    readonly workflowTaskCompletedEventId: number;
    readonly limits: Pick<HistoryLimits, 'maximumPendingActivities'>;
  },
): Changes | BadCommand {
  const asked = command.attributes;
  const refused = refusal(state, asked, at.limits.maximumPendingActivities);
  if (refused) return refused;
  const timeouts = activityTimeouts(asked, state.start.runTimeoutMs);
  if (timeouts.kind === 'bad') return bad(asked, timeouts.message);
  const retry = normaliseRetryPolicy(asked.retryPolicy);
  if (retry.kind === 'bad') return bad(asked, retry.message);
  return changes([
    {
      event: {
        kind: 'ActivityTaskScheduled',
        attributes: {
          activityId: asked.activityId,
          activityType: asked.activityType,
          taskQueue: {
            kind: TaskQueueKind.Normal,
            ...asked.taskQueue,
            name: asked.taskQueue?.name || state.start.taskQueue,
          },
          header: asked.header,
          input: asked.input,
          ...timeouts.timeouts,
          workflowTaskCompletedEventId: at.workflowTaskCompletedEventId,
          retryPolicy: retry.policy,
          useWorkflowBuildId: asked.useWorkflowBuildId,
          priority: asked.priority,
        },
        userMetadata: command.userMetadata,
      },
    },
  ]);
}

type Asked = CommandOf<'ScheduleActivityTask'>['attributes'];

function refusal(state: RunState, asked: Asked, maximumPending: number): BadCommand | undefined {
  const { activityId = '', activityType, taskQueue } = asked;
  if (activityId === '') return bad(asked, 'the activity id is empty');
  if (activityId.length > MOST_ID_LENGTH) return bad(asked, tooLong('activity id', activityId));
  const type = activityType?.name ?? '';
  if (type === '') return bad(asked, 'the activity type is empty');
  if (type.length > MOST_ID_LENGTH) return bad(asked, tooLong('activity type', type));
  const queue = taskQueue?.name ?? '';
  if (queue.length > MOST_ID_LENGTH) return bad(asked, tooLong('task queue', queue));
  const pending = findById(state, activityId);
  if (pending)
    return badCommand(
      WorkflowTaskFailedCause.ScheduleActivityDuplicateId,
      `activity "${activityId}" is already pending since event ${pending.scheduledEventId}`,
    );
  if (state.activities.size >= maximumPending)
    return badCommand(
      WorkflowTaskFailedCause.PendingActivitiesLimitExceeded,
      `${state.activities.size} activities are pending, the most that a run may have: wait for some to end`,
    );
  return undefined;
}

function bad(asked: Asked, message: string): BadCommand {
  const which = `activity "${asked.activityId ?? ''}" of type "${asked.activityType?.name ?? ''}"`;
  return badCommand(
    WorkflowTaskFailedCause.BadScheduleActivityAttributes,
    `cannot schedule ${which}: ${message}`,
  );
}

function tooLong(what: string, text: string): string {
  return `the ${what} has ${text.length} characters; at most ${MOST_ID_LENGTH} are allowed`;
}
