/**
 * What a losing branch held (PROTOCOLS 9): inputs from outside, which the active cell applies once more, and what only can
 * be reported. Pure.
 *
 * An input is recognised by its request id, or the origin that stands for one (history/origin.ts). An input that is applied
 * again carries that id along, so that after a failover and a failback within the lag it is not applied a third time.
 */
import type { EventOf, HistoryEvent } from '../../../wire/events.ts';
import { singly, type LedgerEntry } from '../../history/execution.ts';
import type { RunInput } from '../../history/input.ts';
import { holdsOrigin } from '../../history/origin.ts';
import type { Change } from '../../history/patch.ts';
import type { BufferedEvent, Ledger, RunState } from '../../history/state.ts';
import type { Transition } from '../../history/transition.ts';
import type { LossOutcome } from './loss.ts';

/** An input to apply again, and its name for the report. */
export type LostInput = { readonly name: string; readonly input: RunInput };

export type LostContent = {
  readonly inputs: readonly LostInput[];
  /** Kinds of its events. */
  readonly events: readonly string[];
  /** It closed the run. */
  readonly closes: boolean;
  /** Ids of activities of which it had started an attempt, whatever became of that; else by which event they were scheduled. */
  readonly startedActivities: readonly string[];
};

export const NOTHING_LOST: LostContent = {
  inputs: [],
  events: [],
  closes: false,
  startedActivities: [],
};

type FromOutside = Extract<
  BufferedEvent,
  { kind: 'WorkflowExecutionSignaled' | 'WorkflowExecutionCancelRequested' }
>;

/** The id of an activity, by the event that scheduled it; undefined where that is not known. */
export type ActivityId = (scheduledEventId: number) => string | undefined;

/** As the other branch knows them: up to that event both have the same. */
export function idsUpTo(
  eventId: number,
  other: Pick<RunState, 'activities'> | undefined,
): ActivityId {
  return (scheduledEventId) =>
    scheduledEventId <= eventId
      ? other?.activities.get(scheduledEventId)?.scheduled.activityId
      : undefined;
}

/**
 * Of one transition.
 * @param idOf of activities that were scheduled before it
 */
export function lostInTransition(transition: Transition, idOf: ActivityId): LostContent {
  const { changes, execution } = transition;
  // What a flush writes came in with an earlier transition, as a buffered event.
  const flushes = changes.some(({ kind }) => kind === 'buffer-kept');
  const cancelId = cancelIdOf(execution?.ledger ?? [], transition.runId);
  return {
    inputs: changes.flatMap((change) => {
      const event = isEvent(change) ? (flushes ? undefined : change) : buffered(change);
      return event ? inputOf(event, cancelId) : [];
    }),
    events: changes.filter(isEvent).map(({ kind }) => kind),
    closes: execution?.current?.closedAt !== undefined,
    startedActivities: namesOf(changes.flatMap(startedBy), changes.filter(isEvent), idOf),
  };
}

/**
 * Of a whole branch, of which only its state, the events after the common ancestor and its ledger are known.
 * @param idOf of activities that were scheduled before the ancestor
 */
export function lostInBranch(
  { state, ledger }: { readonly state: RunState; readonly ledger: readonly LedgerEntry[] },
  events: readonly HistoryEvent[],
  idOf: ActivityId,
): LostContent {
  const cancelId = cancelIdOf(ledger, state.runId);
  const pending = [...state.activities.values()];
  const started = [
    ...[...events, ...state.buffered].flatMap(startedIn),
    ...pending.flatMap((one) => (one.started ? [one.scheduledEventId] : [])),
  ];
  return {
    inputs: [...events, ...state.buffered].flatMap((event) => inputOf(event, cancelId)),
    events: events.map(({ kind }) => kind),
    closes: state.closedAt !== undefined,
    startedActivities: namesOf(
      started,
      events,
      (id) => state.activities.get(id)?.scheduled.activityId ?? idOf(id),
    ),
  };
}

/** What becomes of a branch of which nothing is applied again, by the inputs that it alone has. */
export function unsettled(inputs: readonly LostInput[]): LossOutcome {
  return inputs.length > 0 ? 'signal-undeliverable' : 'rolled-back';
}

/**
 * Those that the winning branch did not begin with nor, where its ledger is given, take since: what loses is heard more than
 * once, and the run may have ended on what was applied again the first time.
 */
export function unheardOf(
  inputs: readonly LostInput[],
  winner: Pick<RunState, 'lineage' | 'runId'>,
  ledger?: Ledger,
): readonly LostInput[] {
  return inputs.filter(({ input }) => {
    const id = 'requestId' in input ? input.requestId : '';
    if (holdsOrigin(winner.lineage, winner.runId, id)) return false;
    const taken = ledger?.find(id);
    return !taken || singly(taken).every(({ runId }) => runId !== winner.runId);
  });
}

/** A run is asked to cancel once; the event does not say by which request, the ledger does. */
function cancelIdOf(ledger: readonly LedgerEntry[], runId: string): string {
  return ledger.find((entry) => entry.kind === 'cancel' && entry.runId === runId)?.requestId ?? '';
}

function inputOf(event: HistoryEvent | BufferedEvent, cancelId: string): readonly LostInput[] {
  if (event.kind === 'WorkflowExecutionSignaled')
    return [{ name: signalName(event), input: signal(event) }];
  if (event.kind !== 'WorkflowExecutionCancelRequested') return [];
  const { cause, identity } = event.attributes;
  const input = {
    kind: 'request-cancel',
    requestId: cancelId,
    reason: cause ?? '',
    identity: identity ?? '',
  } as const;
  return [{ name: 'cancel request', input }];
}

type Signaled = Pick<EventOf<'WorkflowExecutionSignaled'>, 'attributes' | 'links'>;

function signalName({ attributes }: Signaled): string {
  return `signal ${attributes.signalName ?? ''}`;
}

function signal({ attributes, links }: Signaled): RunInput {
  const { signalName: name, input, header, identity, requestId } = attributes;
  return {
    kind: 'signal',
    requestId: requestId ?? '',
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

/** The events that scheduled the activities of which this starts an attempt, or says that one was started. */
function startedBy(change: Change): readonly number[] {
  if (isEvent(change)) return startedIn(change);
  if (change.kind === 'event-buffered') return startedIn(change.event);
  return change.kind === 'activity-started' ? [change.scheduledEventId] : [];
}

function startedIn(event: HistoryEvent | BufferedEvent): readonly number[] {
  if (event.kind !== 'ActivityTaskStarted') return [];
  const { scheduledEventId } = event.attributes;
  return scheduledEventId ? [scheduledEventId] : [];
}

function namesOf(
  scheduledEventIds: readonly number[],
  events: readonly HistoryEvent[],
  idOf: ActivityId,
): readonly string[] {
  const own = new Map(
    events.flatMap((event) =>
      event.kind === 'ActivityTaskScheduled' ? [[event.eventId, event.attributes.activityId]] : [],
    ) as readonly (readonly [number, string | undefined])[],
  );
  const nameOf = (id: number) => own.get(id) || idOf(id) || `scheduled by event ${id}`;
  return [...new Set(scheduledEventIds)].map(nameOf);
}

function isEvent(change: Change): change is HistoryEvent {
  return 'eventId' in change;
}
