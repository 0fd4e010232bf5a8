/**
 * Writes history events as entries of `History.events`: the same bytes as the generated encoder's, for half of its
 * time. That one asks each event for each of its seventy fields; an event has six.
 *
 * Place: under encodeEvents (event-codec.ts), on the way of every transition and of every first page of a task.
 */
import protobuf from 'protobufjs/light.js';
import { invariant } from '../kernel/invariant.ts';
import { EVENT_TYPE, type EventKind } from './event-kinds.ts';
import type { HistoryEvent } from './events.ts';
import { descriptors } from './proto.ts';
import { toTimestamp } from './time.ts';

const LENGTH_DELIMITED = 2;
const EVENT = descriptors.lookupType('temporal.api.history.v1.HistoryEvent');
const TAG = {
  event: tag('temporal.api.history.v1.History', 'events', LENGTH_DELIMITED),
  id: tagOf('eventId', 0),
  time: tagOf('eventTime', LENGTH_DELIMITED),
  type: tagOf('eventType', 0),
  version: tagOf('version', 0),
  taskId: tagOf('taskId', 0),
  mayIgnore: tagOf('workerMayIgnore', 0),
  metadata: tagOf('userMetadata', LENGTH_DELIMITED),
  links: tagOf('links', LENGTH_DELIMITED),
  seconds: tag('google.protobuf.Timestamp', 'seconds', 0),
  nanos: tag('google.protobuf.Timestamp', 'nanos', 0),
} as const;
const METADATA = inner('userMetadata');
const LINK = inner('links');

type Attributes = { readonly tag: number; readonly type: protobuf.Type };
const ATTRIBUTES = new Map<EventKind, Attributes>();

/** The events as entries of `History.events`; their fields come in the order of their numbers. */
export function writeEvents(
  events: readonly HistoryEvent[],
  fieldOf: (kind: EventKind) => string,
): Uint8Array {
  const writer = protobuf.Writer.create();
  for (const event of events) {
    writer.uint32(TAG.event).fork();
    writeEvent(writer, event, attributesOf(event.kind, fieldOf));
    writer.ldelim();
  }
  return writer.finish();
}

/** A number or a truth that is zero is not written, as for every message of the contract. */
function writeEvent(writer: protobuf.Writer, event: HistoryEvent, of: Attributes): void {
  const { eventId, kind, version, userMetadata, links, workerMayIgnore } = event;
  if (eventId !== 0) writer.uint32(TAG.id).int64(eventId);
  writeTime(writer, event.eventTime);
  writer.uint32(TAG.type).int32(EVENT_TYPE[kind]);
  if (version !== 0) writer.uint32(TAG.version).int64(version);
  // Its task id is its event id: unique within a run, which is all that it is for.
  if (eventId !== 0) writer.uint32(TAG.taskId).int64(eventId);
  of.type.encode(event.attributes, writer.uint32(of.tag).fork()).ldelim();
  if (workerMayIgnore === true) writer.uint32(TAG.mayIgnore).bool(true);
  if (userMetadata !== undefined)
    METADATA.encode(userMetadata, writer.uint32(TAG.metadata).fork()).ldelim();
  for (const link of links ?? []) LINK.encode(link, writer.uint32(TAG.links).fork()).ldelim();
}

function writeTime(writer: protobuf.Writer, eventTime: number): void {
  const { seconds, nanos } = toTimestamp(eventTime);
  writer.uint32(TAG.time).fork();
  if (seconds) writer.uint32(TAG.seconds).int64(seconds);
  if (nanos) writer.uint32(TAG.nanos).int32(nanos);
  writer.ldelim();
}

function attributesOf(kind: EventKind, fieldOf: (kind: EventKind) => string): Attributes {
  let known = ATTRIBUTES.get(kind);
  if (known === undefined) {
    const field = fieldOf(kind);
    known = { tag: tagOf(field, LENGTH_DELIMITED), type: inner(field) };
    ATTRIBUTES.set(kind, known);
  }
  return known;
}

function tagOf(field: string, wireType: number): number {
  return tag('temporal.api.history.v1.HistoryEvent', field, wireType);
}

function tag(message: string, name: string, wireType: number): number {
  const field = descriptors.lookupType(message).fields[name];
  invariant(field !== undefined, `the contract has no field ${name} in ${message}`);
  return ((field.id << 3) | wireType) >>> 0;
}

function inner(name: string): protobuf.Type {
  const type = EVENT.fields[name]?.resolve().resolvedType;
  invariant(type instanceof protobuf.Type, `field ${name} of an event is a message`);
  return type;
}
