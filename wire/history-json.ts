/**
 * Histories from the JSON that Temporal's CLI, UI and SDKs write, in all their spellings (proto-json.ts).
 * Place: importing recorded histories; tests of the codec and of `cell/history` on real input.
 *
 * Takes `{ events: […] }`, `{ history: { events: […] } }`, a bare list of events, and a list of batches. Newest first is
 * turned round. Times are cut to milliseconds.
 */
import { AtollError } from '../kernel/errors.ts';
import { fromWireEvent, type WireEvent } from './event-codec.ts';
import type { HistoryEvent } from './events.ts';
import { enumFromJson, messageFromJson } from './proto-json.ts';

const EVENT_TYPE_ENUM = 'temporal.api.enums.v1.EventType';
/** What stands for a type that the contract does not name: no event has it. */
const UNKNOWN_TYPE = -1;

/**
 * The events in ascending order of their ids; those of unknown types that may be ignored are left out.
 * @throws AtollError `invalid-argument` for what is no history, `unimplemented` for an unknown event type
 */
export function historyFromJson(json: unknown): HistoryEvent[] {
  const events = listOf(json).flatMap((event) => eventFromJson(event) ?? []);
  return events.sort((a, b) => a.eventId - b.eventId);
}

/** One event; undefined for one of an unknown type that may be ignored. */
export function eventFromJson(json: unknown): HistoryEvent | undefined {
  const { eventType, ...rest } = json as Readonly<Record<string, unknown>>;
  const message = messageFromJson(
    'temporal.api.history.v1.HistoryEvent',
    rest,
    'event',
  ) as WireEvent;
  return fromWireEvent({
    ...message,
    eventType: enumFromJson(EVENT_TYPE_ENUM, eventType) ?? UNKNOWN_TYPE,
  });
}

function listOf(json: unknown): readonly unknown[] {
  if (Array.isArray(json)) {
    return json.flatMap((item: unknown) => (isBatch(item) ? listOf(item) : [item]));
  }
  const { events, history } = (json ?? {}) as { events?: unknown; history?: unknown };
  if (Array.isArray(events)) return events as readonly unknown[];
  if (history !== undefined) return listOf(history);
  throw new AtollError(
    'invalid-argument',
    'no history: it has neither "events" nor "history", nor is it a list',
  );
}

function isBatch(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'events' in item;
}
