import proto from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import { encodeEvents } from './event-codec.ts';
import type { HistoryEvent } from './events.ts';
import * as responses from './poll-response.ts';
import { fieldsOf } from './proto.ts';

const api = proto.temporal.api.workflowservice.v1;
const events = (count: number): HistoryEvent[] =>
  Array.from({ length: count }, (_, i) => ({
    kind: 'TimerFired',
    eventId: i + 1,
    eventTime: 1000,
    version: 1,
    attributes: { timerId: 't'.repeat(i), startedEventId: i },
  }));
const join = (chunks: readonly Uint8Array[]) => Buffer.concat(chunks);
const fields = {
  taskToken: new Uint8Array([1]),
  attempt: 1,
  startedEventId: 3,
  nextPageToken: new Uint8Array([2]),
};

describe('answers that carry history', () => {
  test.each([
    ['PollWorkflowTaskQueueResponse', 'history', responses.POLL_HISTORY_FIELD],
    ['GetWorkflowExecutionHistoryResponse', 'history', responses.GET_HISTORY_FIELD],
    ['RespondWorkflowTaskCompletedResponse', 'workflowTask', responses.COMPLETED_TASK_FIELD],
    ['StartWorkflowExecutionResponse', 'eagerWorkflowTask', responses.EAGER_TASK_FIELD],
  ])('%s has its %s in the field that we write', (type, name, id) => {
    const field = fieldsOf(`temporal.api.workflowservice.v1.${type}`).find((f) => f.name === name);
    expect(field?.id).toBe(id);
  });

  test.each([0, 1, 3, 200])(
    'a poll response of %d events is what the official library would have encoded',
    (count) => {
      const chunks = [
        encodeEvents(events(count).slice(0, 2)),
        encodeEvents(events(count).slice(2)),
      ];
      const ours = api.PollWorkflowTaskQueueResponse.decode(
        join(responses.pollWorkflowTaskResponse(fields, chunks)),
      );
      expect(ours.history?.events).toHaveLength(count);
      expect(ours).toMatchObject({ attempt: 1, nextPageToken: Buffer.from([2]) });
      const history = proto.temporal.api.history.v1.History.decode(encodeEvents(events(count)));
      const whole = api.PollWorkflowTaskQueueResponse.encode({
        ...fields,
        startedEventId: 3 as never,
        history,
      }).finish();
      expect(api.PollWorkflowTaskQueueResponse.encode(ours).finish()).toEqual(whole);
    },
  );

  test('the stored chunks are not copied', () => {
    const chunk = encodeEvents(events(5));
    expect(responses.pollWorkflowTaskResponse(fields, [chunk]).at(-1)).toBe(chunk);
  });

  test('a history response', () => {
    const bytes = responses.getHistoryResponse({ nextPageToken: new Uint8Array([9]) }, [
      encodeEvents(events(4)),
    ]);
    const decoded = api.GetWorkflowExecutionHistoryResponse.decode(join(bytes));
    expect(decoded.history?.events).toHaveLength(4);
    expect(decoded.nextPageToken).toEqual(Buffer.from([9]));
  });

  test('the next task inline, in a completion and in a start', () => {
    const task = responses.pollWorkflowTaskResponse(fields, [encodeEvents(events(150))]);
    const completed = api.RespondWorkflowTaskCompletedResponse.decode(
      join(responses.completedWithTaskResponse({}, task)),
    );
    expect(completed.workflowTask?.history?.events).toHaveLength(150);
    const started = api.StartWorkflowExecutionResponse.decode(
      join(responses.startWithTaskResponse({ runId: 'r' }, task)),
    );
    expect(started).toMatchObject({ runId: 'r' });
    expect(started.eagerWorkflowTask?.history?.events).toHaveLength(150);
  });
});
