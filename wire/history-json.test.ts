import { describe, expect, test } from 'vitest';
import { eventFromJson, historyFromJson } from './history-json.ts';

const fired = {
  kind: 'TimerFired',
  eventId: 2,
  eventTime: 1_656_707_332_916,
  version: 0,
  attributes: { timerId: 't', startedEventId: 1 },
};
const spelled = (eventType: unknown, id: unknown) => ({
  eventId: id,
  eventTime: '2022-07-01T20:28:52.916373379Z',
  eventType,
  version: '0',
  taskId: '29887670',
  timerFiredEventAttributes: { timerId: 't', startedEventId: '1' },
  attributes: { type: 'timerFiredEventAttributes' },
});

describe('a history as JSON', () => {
  test.each([
    ['EVENT_TYPE_TIMER_FIRED', '2'],
    ['TimerFired', '2'],
    ['TimerFired', 2],
    [18, 2],
  ])('reads the event type %j with the id %j', (eventType, id) => {
    expect(eventFromJson(spelled(eventType, id))).toEqual(fired);
  });

  test.each([
    ['an object with events', (e: unknown[]) => ({ events: e })],
    ['an object with a history', (e: unknown[]) => ({ history: { events: e } })],
    ['a list', (e: unknown[]) => e],
    ['a list of batches', (e: unknown[]) => [{ events: e }]],
  ])('reads %s, newest first or last', (_name, wrap) => {
    const json = wrap([spelled('TimerFired', '3'), spelled('TimerFired', '2')]);
    expect(historyFromJson(json).map((e) => e.eventId)).toEqual([2, 3]);
  });

  test('reads durations, enums, maps, base64 and null', () => {
    const event = eventFromJson({
      eventId: '1',
      eventTime: '1970-01-01T00:00:00Z',
      eventType: 'WorkflowExecutionStarted',
      workflowExecutionStartedEventAttributes: {
        taskQueue: { name: 'q', kind: 'Normal' },
        workflowRunTimeout: '1.5s',
        memo: { fields: { a: { data: 'Mg==' } } },
        input: null,
        retryPolicy: { backoffCoefficient: 2 },
      },
    });
    expect(event?.attributes).toEqual({
      taskQueue: { name: 'q', kind: 1 },
      workflowRunTimeout: { seconds: 1, nanos: 500_000_000 },
      memo: { fields: { a: { data: new Uint8Array([50]) } } },
      retryPolicy: { backoffCoefficient: 2 },
    });
  });

  test('says where it cannot read', () => {
    const bad = {
      ...spelled('TimerFired', '2'),
      timerFiredEventAttributes: { startedEventId: 'x' },
    };
    expect(() => eventFromJson(bad)).toThrow(
      'event.timerFiredEventAttributes.startedEventId is not a number: x',
    );
    expect(() => historyFromJson({ other: 1 })).toThrow(/^no history/);
  });

  test('an unknown type is skipped or refused as the event says', () => {
    expect(
      eventFromJson({ eventId: '6', eventType: 'Unknown', workerMayIgnore: true }),
    ).toBeUndefined();
    expect(() => eventFromJson({ eventId: '6', eventType: 'Unknown' })).toThrow(/does not know/);
  });
});
