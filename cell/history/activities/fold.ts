/**
 * How changes fold into the pending activities (D4): the one `apply` for deciding, replay, takeover and standby.
 *
 * Invariants
 *  1. A patch names a pending activity: anything else is a broken log, and the shard stops.
 *  2. Closing is idempotent: a buffered closing event removes the activity, its flush finds nothing.
 */
import { invariant } from '../../../kernel/invariant.ts';
import type { EventOf } from '../../../wire/events.ts';
import type { Change, Patch } from '../patch.ts';
import { withEntry, withoutKey } from '../persistent-map.ts';
import type { PendingActivity } from '../state.ts';
import { closedBy } from './closing.ts';

export type Activities = ReadonlyMap<number, PendingActivity>;

/** @param epoch of the transition that carries the change (D8) */
export function applyActivityChange(
  activities: Activities,
  change: Change,
  epoch: number,
): Activities {
  switch (change.kind) {
    case 'ActivityTaskScheduled':
      return scheduled(activities, change);
    case 'ActivityTaskCancelRequested': {
      const activity = activities.get(change.attributes.scheduledEventId ?? 0);
      // Its end may be buffered: the request is recorded, and there is nothing left to cancel.
      if (activity === undefined) return activities;
      return set(activities, { ...activity, cancelRequestedEventId: change.eventId });
    }
    case 'ActivityTaskCompleted':
    case 'ActivityTaskFailed':
    case 'ActivityTaskTimedOut':
    case 'ActivityTaskCanceled':
    case 'event-buffered':
      return without(activities, closedBy(change));
    case 'activity-started':
    case 'activity-retry':
    case 'activity-heartbeat':
    case 'activity-heartbeat-granted':
      return patched(activities, change, epoch);
    default:
      return activities;
  }
}

type ActivityPatch = Extract<Patch, { kind: `activity-${string}` }>;

function scheduled(activities: Activities, event: EventOf<'ActivityTaskScheduled'>): Activities {
  invariant(!activities.has(event.eventId), `activity of event ${event.eventId} scheduled twice`);
  return set(activities, {
    scheduledEventId: event.eventId,
    scheduled: event.attributes,
    firstScheduledAt: event.eventTime,
    attempt: 1,
    scheduledAt: event.eventTime,
    cancelRequestedEventId: 0,
  });
}

function patched(activities: Activities, patch: ActivityPatch, epoch: number): Activities {
  const activity = activities.get(patch.scheduledEventId);
  invariant(
    activity !== undefined,
    `${patch.kind} of event ${patch.scheduledEventId}: not pending`,
  );
  return set(activities, patchOne(activity, patch, epoch));
}

function patchOne(activity: PendingActivity, patch: ActivityPatch, epoch: number): PendingActivity {
  switch (patch.kind) {
    case 'activity-started': {
      invariant(
        activity.started === undefined,
        `attempt ${activity.attempt} of event ${patch.scheduledEventId} started twice`,
      );
      const { at, requestId, identity } = patch;
      return { ...activity, started: { at, requestId, identity, epoch } };
    }
    case 'activity-retry':
      invariant(
        patch.attempt === activity.attempt + 1,
        `attempt ${patch.attempt} of event ${patch.scheduledEventId} follows ${activity.attempt}`,
      );
      return {
        ...activity,
        attempt: patch.attempt,
        scheduledAt: patch.scheduledAt,
        started: undefined,
        lastFailure: patch.failure,
        lastIdentity: patch.identity,
      };
    case 'activity-heartbeat':
      return { ...activity, lastHeartbeatAt: patch.at, heartbeatDetails: patch.details };
    case 'activity-heartbeat-granted':
      return { ...activity, lastHeartbeatAt: patch.at };
  }
}

function set(activities: Activities, activity: PendingActivity): Activities {
  return withEntry(activities, activity.scheduledEventId, activity);
}

function without(activities: Activities, scheduledEventId: number | undefined): Activities {
  return scheduledEventId === undefined ? activities : withoutKey(activities, scheduledEventId);
}
