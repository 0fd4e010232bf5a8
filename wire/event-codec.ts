/**
 * History events ⇄ the bytes that are stored, replicated and served: entries of `History.events` (field 1), one
 * after the other. So batches concatenate to a history, and a poll response carries them as they are.
 *
 * Invariants
 *  1. Encoding what was decoded gives the same bytes again.
 *  2. Decoded events own their payloads: none pins the buffer it came from.
 *  3. An event type that this release does not know is skipped if the event says that a worker may ignore it, and
 *     refused otherwise (D17); no other event is left out.
 */
import type { temporal } from '@temporalio/proto';
import { AtollError } from '../kernel/errors.ts';
import { EVENT_TYPE, type EventKind } from './event-kinds.ts';
import { writeEvents } from './event-writer.ts';
import type { HistoryEvent } from './events.ts';
import type { Plain } from './plain.ts';
import { messageType } from './proto.ts';
import { timestampMs, toTimestamp } from './time.ts';

/** A history event as the contract has it: `eventType` and one attributes field of forty. */
export type WireEvent = Plain<temporal.api.history.v1.IHistoryEvent>;

const HISTORY = messageType<{ readonly events?: readonly WireEvent[] | undefined }>(
  'temporal.api.history.v1.History',
);
const KINDS = new Map(Object.entries(EVENT_TYPE).map(([kind, type]) => [type, kind as EventKind]));
const FIELDS = new Map(
  Object.keys(EVENT_TYPE).map((kind) => [kind as EventKind, attributesField(kind as EventKind)]),
);

let ready = false;

/** The events as entries of `History.events`. */
export function encodeEvents(events: readonly HistoryEvent[]): Uint8Array {
  // Looks the type up at its first use, so that all that it contains decodes as plain data (proto.ts).
  if (!ready) HISTORY.encode({});
  ready = true;
  return writeEvents(events, fieldOf);
}

/**
 * The events of such bytes, in their order.
 * @throws AtollError `invalid-argument` for malformed bytes, `unimplemented` for an event of an unknown type
 */
export function decodeEvents(bytes: Uint8Array): HistoryEvent[] {
  const events: HistoryEvent[] = [];
  for (const wire of HISTORY.decodeCopy(bytes).events ?? []) {
    const event = fromWireEvent(wire);
    if (event !== undefined) events.push(event);
  }
  return events;
}

/** One event in the contract's form. Its task id is its event id: unique within a run, which is all that it is for. */
export function toWireEvent(event: HistoryEvent): WireEvent {
  const { kind, eventId, eventTime, version, attributes, userMetadata, links, workerMayIgnore } =
    event;
  return {
    eventId,
    eventTime: toTimestamp(eventTime),
    eventType: EVENT_TYPE[kind],
    version,
    taskId: eventId,
    [fieldOf(kind)]: attributes,
    userMetadata,
    links,
    workerMayIgnore,
  };
}

/**
 * The event in our form, or undefined for one of an unknown type that may be ignored.
 * @throws AtollError `unimplemented` for one that may not
 */
export function fromWireEvent(wire: WireEvent): HistoryEvent | undefined {
  const kind = KINDS.get((wire.eventType ?? 0) as never);
  if (kind === undefined) {
    if (wire.workerMayIgnore === true) return undefined;
    throw new AtollError(
      'unimplemented',
      `history event ${wire.eventId ?? 0} has type ${wire.eventType ?? 0}, which this release does not know; upgrade it`,
    );
  }
  const { userMetadata, links, workerMayIgnore } = wire;
  return {
    kind,
    eventId: wire.eventId ?? 0,
    eventTime: timestampMs(wire.eventTime),
    version: wire.version ?? 0,
    attributes: (wire as Readonly<Record<string, unknown>>)[fieldOf(kind)] ?? {},
    ...(userMetadata !== undefined && { userMetadata }),
    ...(links !== undefined && links.length > 0 && { links }),
    ...(workerMayIgnore === true && { workerMayIgnore }),
  } as HistoryEvent;
}

/** The name of the kind's attributes field. */
export function attributesField(kind: EventKind): string {
  return `${kind.charAt(0).toLowerCase()}${kind.slice(1)}EventAttributes`;
}

function fieldOf(kind: EventKind): string {
  return FIELDS.get(kind) ?? attributesField(kind);
}
