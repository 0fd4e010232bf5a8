/**
 * What a losing branch held (PROTOCOLS 9): inputs from outside, which the active cell applies once more, and what only can
 * be reported. Pure.
 *
 * An input is recognised by the request id of its client, or else by its origin: the run, the epoch of its first
 * acceptance, and its place there. An input that is applied again carries that id along, so that after a failover and a
 * failback within the lag it is not applied a third time.
 */
import type { EventOf, HistoryEvent } from '../../wire/events.ts';
import { epochOf, type Lineage } from '../history/lineage.ts';
import type { RunInput } from '../history/input.ts';
import type { Change } from '../history/patch.ts';
import type { BufferedEvent, RunState } from '../history/state.ts';
import type { Transition } from '../history/transition.ts';

/** An input to apply again, and its name for the report. */
export type LostInput = { readonly name: string; readonly input: RunInput };

export type LostContent = {
  readonly inputs: readonly LostInput[];
  /** Kinds of its events. */
  readonly events: readonly string[];
  /** It closed the run. */
  readonly closes: boolean;
  /** Scheduled event ids of activity attempts that it had started. */
  readonly startedActivities: readonly string[];
};

type FromOutside = Extract<
  BufferedEvent,
  { kind: 'WorkflowExecutionSignaled' | 'WorkflowExecutionCancelRequested' }
>;

/** Of one transition. */
export function lostInTransition(transition: Transition): LostContent {
  const { runId, epoch, number, changes } = transition;
  // What a flush writes came in with an earlier transition, as a buffered event.
  const flushes = changes.some(({ kind }) => kind === 'buffer-kept');
  return {
    inputs: changes.flatMap((change, at) => {
      const event = isEvent(change) ? (flushes ? undefined : change) : buffered(change);
      return event ? inputOf(event, originId({ runId, epoch, number, at })) : [];
    }),
    events: changes.filter(isEvent).map(({ kind }) => kind),
    closes: transition.execution?.current?.closedAt !== undefined,
    startedActivities: changes.flatMap(startedActivity),
  };
}

/** Of a whole branch, of which only its state and the events after the common ancestor are known. */
export function lostInBranch(state: RunState, events: readonly HistoryEvent[]): LostContent {
  const { runId, epoch } = state;
  // Without their transitions, events are placed by id: their own, or the one after the last.
  const inHistory = events.flatMap((event) =>
    inputOf(event, originId({ runId, epoch, number: 0, at: event.eventId })),
  );
  const waiting = state.buffered.flatMap((event, index) =>
    inputOf(event, originId({ runId, epoch, number: 0, at: state.nextEventId + index })),
  );
  return {
    inputs: [...inHistory, ...waiting],
    events: events.map(({ kind }) => kind),
    closes: state.closedAt !== undefined,
    startedActivities: [...state.activities.values()]
      .filter(({ started }) => started !== undefined)
      .map(({ scheduled, scheduledEventId }) => scheduled.activityId ?? String(scheduledEventId)),
  };
}

/** Whether the branch that ends so holds the input of that origin itself. */
export function holdsOrigin(lineage: Lineage, runId: string, requestId: string): boolean {
  const [prefix, run, epoch, number] = requestId.split('/');
  if (prefix !== ORIGIN || run !== runId) return false;
  return epochOf(lineage, Number(number)) === Number(epoch);
}

const ORIGIN = 'atoll-origin';

type Origin = {
  readonly runId: string;
  readonly epoch: number;
  readonly number: number;
  readonly at: number;
};

function originId({ runId, epoch, number, at }: Origin): string {
  return `${ORIGIN}/${runId}/${epoch}/${number}/${at}`;
}

function inputOf(event: HistoryEvent | BufferedEvent, origin: string): readonly LostInput[] {
  if (event.kind === 'WorkflowExecutionSignaled')
    return [{ name: signalName(event), input: signal(event, origin) }];
  if (event.kind !== 'WorkflowExecutionCancelRequested') return [];
  const { cause, identity } = event.attributes;
  const input = {
    kind: 'request-cancel',
    requestId: origin,
    reason: cause ?? '',
    identity: identity ?? '',
  } as const;
  return [{ name: 'cancel request', input }];
}

type Signaled = Pick<EventOf<'WorkflowExecutionSignaled'>, 'attributes' | 'links'>;

function signalName({ attributes }: Signaled): string {
  return `signal ${attributes.signalName ?? ''}`;
}

function signal({ attributes, links }: Signaled, origin: string): RunInput {
  const { signalName: name, input, header, identity, requestId } = attributes;
  return {
    kind: 'signal',
    requestId: requestId ? requestId : origin,
    name: name ?? '',
    input,
    header,
    identity: identity ?? '',
    links,
  };
}

function buffered(change: Change): FromOutside | undefined {
  if (change.kind !== 'event-buffered') return undefined;
  const { event } = change;
  const outside =
    event.kind === 'WorkflowExecutionSignaled' || event.kind === 'WorkflowExecutionCancelRequested';
  return outside ? event : undefined;
}

function startedActivity(change: Change): readonly string[] {
  return change.kind === 'activity-started' ? [String(change.scheduledEventId)] : [];
}

function isEvent(change: Change): change is HistoryEvent {
  return 'eventId' in change;
}
