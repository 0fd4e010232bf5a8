import { expect, test } from 'vitest';
import { EVENT_TYPE } from '../../wire/event-kinds.ts';
import { methodOf, workflowPath } from '../../wire/services.ts';
import { describeCall } from './describe-call.ts';
import { scanActivityTask, scanEagerTasks, scanWorkflowTask, timestampMs } from './scan.ts';

const poll = methodOf(workflowPath('PollWorkflowTaskQueue')).response;
const pollActivity = methodOf(workflowPath('PollActivityTaskQueue')).response;
const completed = methodOf(workflowPath('RespondWorkflowTaskCompleted')).response;

const activity = {
  taskToken: Buffer.from('a-token'),
  workflowExecution: { workflowId: 'w', runId: 'r' },
  scheduledTime: { seconds: 1_700_000_000, nanos: 250_000_000 },
  startedTime: { seconds: 1_700_000_001 },
};

function bytes(message: Uint8Array): Buffer {
  return Buffer.from(message);
}

test('a workflow task shows its token, its run, its type and its events', () => {
  const message = poll.encode({
    taskToken: Buffer.from('token'),
    workflowExecution: { workflowId: 'order-1@17', runId: 'run' },
    workflowType: { name: 'activities-10' },
    startedEventId: 3,
    history: {
      events: [
        { eventId: 1, eventType: EVENT_TYPE.WorkflowExecutionStarted },
        {
          eventId: 2,
          eventType: EVENT_TYPE.TimerStarted,
          eventTime: { seconds: 5, nanos: 500_000 },
          timerStartedEventAttributes: { timerId: '1' },
        },
      ],
    },
  });
  const task = scanWorkflowTask(bytes(message));
  expect(task?.token.toString()).toBe('token');
  expect(task).toMatchObject({
    workflowId: 'order-1@17',
    runId: 'run',
    type: 'activities-10',
    more: false,
  });
  expect(task?.events.map(({ type }) => type)).toEqual([
    EVENT_TYPE.WorkflowExecutionStarted,
    EVENT_TYPE.TimerStarted,
  ]);
  expect(timestampMs(task?.events[1]?.time ?? Buffer.alloc(0))).toBe(5_000.5);
});

test('a history with a further page says so', () => {
  const message = poll.encode({ taskToken: Buffer.from('t'), nextPageToken: Buffer.from('p') });
  expect(scanWorkflowTask(bytes(message))?.more).toBe(true);
});

test('a poll that found nothing is no task', () => {
  expect(scanWorkflowTask(Buffer.alloc(0))).toBeUndefined();
  expect(scanActivityTask(Buffer.alloc(0))).toBeUndefined();
});

test('an activity task shows when the server scheduled and started it', () => {
  const task = scanActivityTask(bytes(pollActivity.encode(activity)));
  expect(task).toMatchObject({
    runId: 'r',
    scheduledAt: 1_700_000_000_250,
    startedAt: 1_700_000_001_000,
  });
});

test('eager activities are found inside the answer to a workflow task', () => {
  const message = completed.encode({ activityTasks: [activity, activity] });
  expect(scanEagerTasks(bytes(message)).map(({ runId }) => runId)).toEqual(['r', 'r']);
  expect(scanEagerTasks(bytes(completed.encode({ workflowTask: {} })))).toEqual([]);
});

test('a message that ends inside a number is refused', () => {
  expect(() => scanWorkflowTask(Buffer.from([0x80]))).toThrow('ends inside a number');
});

test('the call that a router is measured with weighs a kilobyte and says what it would without padding', () => {
  const call = describeCall('default', 'queue');
  expect(call.length).toBe(5 + 1024);
  expect(call.readUInt32BE(1)).toBe(1024);
  const { request } = methodOf(workflowPath('DescribeTaskQueue'));
  expect(request.decode(call.subarray(5))).toMatchObject({
    namespace: 'default',
    taskQueue: { name: 'queue' },
  });
});
