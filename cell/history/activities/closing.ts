/**
 * How an activity ends: the pair of events that history gets, written only now (BEHAVIOURS 17).
 *
 * Place: every path that closes an activity (respond.ts, timeouts.ts, request-cancel.ts) builds its events here.
 *
 * Invariants
 *  1. ActivityTaskStarted is written only with a closing event, for the last attempt, directly before it.
 *  2. An activity that no worker had in hand closes without ActivityTaskStarted: its `startedEventId` stays 0.
 */
import type { EventAttributes } from '../../../wire/events.ts';
import type { DraftChange, DraftEvent } from '../draft-change.ts';
import type { Change } from '../patch.ts';
import type { PendingActivity } from '../state.ts';

export type ClosingKind =
  'ActivityTaskCompleted' | 'ActivityTaskFailed' | 'ActivityTaskTimedOut' | 'ActivityTaskCanceled';

/** The closing event's own attributes; the two ids that every closing event has are added by `closeActivity`. */
export type Closing = {
  [K in ClosingKind]: {
    readonly kind: K;
    readonly attributes: Omit<EventAttributes<K>, 'scheduledEventId' | 'startedEventId'>;
  };
}[ClosingKind];

/** Started, where there is a started attempt, then the closing event with `startedEventId: 0` (draft-change.ts, 4). */
export function closeActivity(activity: PendingActivity, closing: Closing): readonly DraftChange[] {
  const { scheduledEventId } = activity;
  const closed: DraftEvent = linked(closing, { scheduledEventId, startedEventId: 0 });
  const started = startedEvent(activity);
  return started === undefined ? [{ event: closed }] : [{ event: started }, { event: closed }];
}

function startedEvent(activity: PendingActivity): DraftEvent | undefined {
  const { scheduledEventId, started, attempt, lastFailure } = activity;
  if (started === undefined) return undefined;
  return {
    kind: 'ActivityTaskStarted',
    attributes: {
      scheduledEventId,
      identity: started.identity,
      requestId: started.requestId,
      attempt,
      lastFailure,
    },
  };
}

/**
 * The closing event with its `startedEventId` filled, once ids are known: `previous` is the event emitted directly
 * before it. Any other event, and a closing without its started event, comes back as it is.
 */
export function linkStarted<E extends DraftEvent>(
  event: E,
  previous: { readonly event: DraftEvent; readonly eventId: number } | undefined,
): E {
  if (previous?.event.kind !== 'ActivityTaskStarted' || !isClosing(event)) return event;
  if (previous.event.attributes.scheduledEventId !== event.attributes.scheduledEventId)
    return event;
  return {
    ...event,
    attributes: { ...event.attributes, startedEventId: previous.eventId },
  };
}

/** The scheduled event id of the activity that this change closes; undefined for any other change. */
export function closedBy(change: Change): number | undefined {
  const event = change.kind === 'event-buffered' ? change.event : change;
  return isClosing(event) ? event.attributes.scheduledEventId : undefined;
}

/** Whether the event ends an activity. */
export function isClosing<E extends { readonly kind: string }>(
  event: E,
): event is E & { readonly kind: ClosingKind } {
  switch (event.kind) {
    case 'ActivityTaskCompleted':
    case 'ActivityTaskFailed':
    case 'ActivityTaskTimedOut':
    case 'ActivityTaskCanceled':
      return true;
    default:
      return false;
  }
}

/** Written out by kind, because spreading a union loses which attributes belong to which kind. */
function linked(
  closing: Closing,
  ids: { readonly scheduledEventId: number; readonly startedEventId: number },
): DraftEvent {
  switch (closing.kind) {
    case 'ActivityTaskCompleted':
      return { kind: closing.kind, attributes: { ...closing.attributes, ...ids } };
    case 'ActivityTaskFailed':
      return { kind: closing.kind, attributes: { ...closing.attributes, ...ids } };
    case 'ActivityTaskTimedOut':
      return { kind: closing.kind, attributes: { ...closing.attributes, ...ids } };
    case 'ActivityTaskCanceled':
      return { kind: closing.kind, attributes: { ...closing.attributes, ...ids } };
  }
}
