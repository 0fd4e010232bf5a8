import proto from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import { fromWireCommand, toWireCommand } from './command-codec.ts';
import { decodeEvents, encodeEvents, fromWireEvent, toWireEvent } from './event-codec.ts';
import { COMMAND_TYPE, EVENT_TYPE, type CommandKind, type EventKind } from './event-kinds.ts';
import type { Command, HistoryEvent } from './events.ts';
import { messageType } from './proto.ts';
import { countEvents, scanEvents, sliceEvents } from './event-scan.ts';

const { History } = proto.temporal.api.history.v1;
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** The events as the generated encoder of their message writes them. */
const generated = (events: readonly HistoryEvent[]): Uint8Array =>
  messageType('temporal.api.history.v1.History').encode({ events: events.map(toWireEvent) });

/** A history of `count` timers. */
const timers = (count: number): HistoryEvent[] =>
  Array.from({ length: count }, (_, i) => ({
    kind: 'TimerStarted',
    eventId: i + 1,
    eventTime: 1_700_000_000_123 + i,
    version: 7,
    attributes: { timerId: `t${i}`, startToFireTimeout: { seconds: i + 1 } },
  }));

describe('events as bytes', () => {
  test.each(Object.keys(EVENT_TYPE) as EventKind[])('%s comes back as it went', (kind) => {
    const event = {
      kind,
      eventId: 3,
      eventTime: 5_001,
      version: -24,
      attributes: {},
    } as HistoryEvent;
    expect(decodeEvents(encodeEvents([event]))).toEqual([event]);
    expect(Buffer.compare(encodeEvents([event]), generated([event]))).toBe(0);
  });

  test('user metadata, links and the permission to ignore come along', () => {
    const event: HistoryEvent = {
      kind: 'MarkerRecorded',
      eventId: 1,
      eventTime: 1,
      version: 0,
      attributes: { markerName: 'm', details: { x: { payloads: [{ data: bytesOf('d') }] } } },
      userMetadata: { summary: { data: bytesOf('s') } },
      links: [{ workflowEvent: { namespace: 'n', workflowId: 'w', runId: 'r' } }],
      workerMayIgnore: true,
    };
    expect(decodeEvents(encodeEvents([event]))).toEqual([event]);
    expect(Buffer.compare(encodeEvents([event]), generated([event]))).toBe(0);
  });

  test('the official library reads them', () => {
    const [event] = History.decode(encodeEvents(timers(1))).events;
    expect(event).toMatchObject({ eventType: EVENT_TYPE.TimerStarted });
    expect(event?.eventId?.toString()).toBe('1');
    expect(event?.eventTime).toMatchObject({ nanos: 123_000_000 });
    expect(event?.timerStartedEventAttributes?.timerId).toBe('t0');
  });

  test('batches concatenate to a history', () => {
    const all = timers(10);
    const joined = Buffer.concat([encodeEvents(all.slice(0, 4)), encodeEvents(all.slice(4))]);
    expect(Buffer.compare(joined, encodeEvents(all))).toBe(0);
    expect(decodeEvents(joined)).toEqual(all);
  });

  test('an unknown event that may be ignored is skipped', () => {
    const bytes = History.encode({
      events: [{ eventType: 9999 as never, workerMayIgnore: true }],
    }).finish();
    expect(decodeEvents(bytes)).toEqual([]);
  });

  test('an unknown event that may not is refused', () => {
    const wire = { eventId: 6, eventType: 9999 as never };
    expect(() => fromWireEvent(wire)).toThrow(/history event 6 has type 9999/);
    expect(() => fromWireEvent(wire)).toThrow(
      expect.objectContaining({ code: 'unimplemented' }) as Error,
    );
  });
});

describe('scanning events', () => {
  test('gives ids and borders without decoding', () => {
    const bytes = encodeEvents(timers(300));
    const ranges = scanEvents(bytes);
    expect(ranges.map((r) => r.eventId)).toEqual(timers(300).map((e) => e.eventId));
    expect(ranges[0]?.start).toBe(0);
    expect(ranges.at(-1)?.end).toBe(bytes.length);
    for (const [i, range] of ranges.entries()) expect(range.start).toBe(ranges[i - 1]?.end ?? 0);
    expect(countEvents(bytes)).toBe(300);
  });

  test.each([
    ['all', 1, 9, [1, 2, 3, 4, 5]],
    ['the middle', 2, 4, [2, 3, 4]],
    ['the end', 5, 99, [5]],
    ['nothing', 6, 9, []],
  ])('slices %s', (_name, first, last, ids) => {
    const slice = sliceEvents(encodeEvents(timers(5)), first, last);
    expect(decodeEvents(slice).map((e) => e.eventId)).toEqual(ids);
  });

  test.each([[[10, 5, 8]], [[18, 1, 8]], [[10, 255]], [[10, 2, 15, 1]]])('refuses %j', (bytes) => {
    expect(() => scanEvents(Uint8Array.from(bytes))).toThrow(/malformed history bytes/);
  });
});

describe('commands', () => {
  test.each(Object.keys(COMMAND_TYPE) as CommandKind[])('%s comes back as it went', (kind) => {
    const command = { kind, attributes: {}, userMetadata: { summary: {} } } as Command;
    expect(fromWireCommand(toWireCommand(command))).toEqual(command);
  });

  test.each([undefined, 0, 15, 99])('the type %j is no command', (commandType) => {
    const read = () => fromWireCommand({ commandType: commandType as never });
    expect(read).toThrow(expect.objectContaining({ code: 'invalid-argument' }) as Error);
  });
});
