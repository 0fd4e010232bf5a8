/** Polls, long polls of history and pages of long histories (BEHAVIOURS 21; GetWorkflowExecutionHistory). */
import { expect, test } from 'vitest';
import { HistoryEventFilterType } from '../../wire/enums.ts';
import type { HistoryEvent } from '../../wire/events.ts';
import {
  closes,
  command,
  eventsOf,
  kindsOf,
  refusal,
  text,
  until,
  type RawClient,
} from './testing/client.ts';
import { useCell } from './testing/use-cell.ts';

const client = useCell();
const ns = { namespace: 'default' };

function history(c: RawClient, workflowId: string, fields: object = {}, timeoutMs = 5_000) {
  const request = { ...ns, execution: { workflowId }, ...fields };
  return c.cell.call('GetWorkflowExecutionHistory', request, { timeoutMs });
}

/** Cheap to compare by the thousand. */
function namesOf(events: readonly HistoryEvent[]): string[] {
  return events.map(({ eventId, kind }) => `${eventId} ${kind}`);
}

test('a poll that finds nothing is answered empty before its deadline', async () => {
  const c = client();
  expect(await c.pollTask()).toEqual({});
  expect(await c.pollActivity()).toEqual({});
});

test('a poll whose client is gone never takes a task', async () => {
  const c = client();
  const gone = new AbortController();
  const polls = Array.from({ length: 10 }, () =>
    refusal(c.pollTask({}, { signal: gone.signal, timeoutMs: 10_000 })),
  );
  await until(async () => {
    const request = { ...ns, taskQueue: { name: c.queue }, taskQueueType: 1 } as const;
    const { pollers } = await c.cell.call('DescribeTaskQueue', request);
    return (pollers ?? []).length > 0;
  });
  gone.abort();
  await Promise.all(polls);
  // The client has several connections: on each of them a later answer shows that the goodbyes before it were heard.
  await Promise.all(polls.map(() => refusal(c.describe('nobody'))));
  await c.start('after-gone');
  expect((await c.task()).attempt).toBe(1);
});

test('a task is given to one of many waiting polls', async () => {
  const c = client();
  const polls = Array.from({ length: 8 }, () => c.pollTask({}, { timeoutMs: 1_000 }));
  await c.start('one-of-many');
  const tasks = (await Promise.all(polls)).filter(({ taskToken }) => taskToken);
  expect(tasks).toHaveLength(1);
});

test('a long poll of history wakes for new events, and the last page of a closed run ends it', async () => {
  const c = client();
  await c.start('followed');
  const first = await history(c, 'followed', { waitNewEvent: true });
  expect(kindsOf(eventsOf(first))).toBe('Started TaskScheduled');
  const waiting = history(c, 'followed', {
    waitNewEvent: true,
    nextPageToken: first.nextPageToken,
  });
  await c.signal('followed', 'news');
  const second = await waiting;
  expect(kindsOf(eventsOf(second))).toBe('Signaled');
  const last = history(c, 'followed', { waitNewEvent: true, nextPageToken: second.nextPageToken });
  await c.work(closes);
  const third = await last;
  expect(kindsOf(eventsOf(third))).toBe('TaskStarted TaskCompleted Completed');
  expect(third.nextPageToken ?? new Uint8Array()).toHaveLength(0);
});

test('a long poll that sees nothing new is answered empty with a token that goes on', async () => {
  const c = client();
  await c.start('quiet');
  const { nextPageToken } = await history(c, 'quiet', { waitNewEvent: true });
  const empty = await history(c, 'quiet', { waitNewEvent: true, nextPageToken }, 300);
  expect(eventsOf(empty)).toEqual([]);
  expect(empty.nextPageToken?.length).toBeGreaterThan(0);
  await c.signal('quiet', 'news');
  const next = { waitNewEvent: true, nextPageToken: empty.nextPageToken };
  expect(kindsOf(eventsOf(await history(c, 'quiet', next)))).toBe('Signaled');
});

test('the close-event filter waits for the end and shows it alone', async () => {
  const c = client();
  await c.start('end');
  const historyEventFilterType = HistoryEventFilterType.CloseEvent;
  expect(eventsOf(await history(c, 'end', { historyEventFilterType }))).toEqual([]);
  const waiting = history(c, 'end', { historyEventFilterType, waitNewEvent: true });
  await c.work(command('CompleteWorkflowExecution', { result: text('done') }));
  const [event, ...others] = eventsOf(await waiting);
  expect(event?.attributes).toMatchObject({ result: text('done') });
  expect(others).toEqual([]);
});

test('a history of 3,000 events comes in pages of any size, the same events each time', async () => {
  const c = client();
  await c.start('long');
  const markers = Array.from({ length: 2_995 }, (_, n) =>
    command('RecordMarker', { markerName: `m${n}`, details: { d: text('x'.repeat(1_000)) } }),
  );
  await c.work(...markers);
  await c.signal('long', 'wake');
  const whole = namesOf(await c.events('long'));
  expect(whole).toHaveLength(3_001);
  expect(whole.at(-1)).toBe('3001 WorkflowTaskScheduled');

  const paged: string[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await history(c, 'long', { maximumPageSize: 700, nextPageToken });
    expect(eventsOf(page).length).toBeLessThanOrEqual(700);
    paged.push(...namesOf(eventsOf(page)));
    ({ nextPageToken } = page);
  } while (nextPageToken?.length);
  expect(paged).toEqual(whole);

  const task = await c.task();
  expect(task.nextPageToken?.length, 'more than fits in one response').toBeGreaterThan(0);
  const shown = namesOf(eventsOf(task));
  ({ nextPageToken } = task);
  while (nextPageToken?.length) {
    const page = await history(c, 'long', { nextPageToken });
    shown.push(...namesOf(eventsOf(page)));
    ({ nextPageToken } = page);
  }
  expect(shown.slice(0, -1)).toEqual(whole);
  expect(shown.at(-1)).toBe(`${task.startedEventId} WorkflowTaskStarted`);
  await c.complete(task, [closes]);
});

test('a page token continues its own run only', async () => {
  const c = client();
  await c.start('tokens');
  await c.start('tokens-2');
  const { nextPageToken } = await history(c, 'tokens', { maximumPageSize: 1 });
  const foreign = history(c, 'tokens-2', { nextPageToken });
  expect(await refusal(foreign)).toMatchObject({ code: 'invalid-argument' });
  const garbled = nextPageToken?.slice().fill(7, 3, 9);
  const refused = await refusal(history(c, 'tokens', { nextPageToken: garbled }));
  expect(refused.code).toBe('invalid-argument');
});

test('pages of a run stay with that run when another one starts meanwhile', async () => {
  const c = client();
  await c.start('pinned');
  const { nextPageToken } = await history(c, 'pinned', { maximumPageSize: 1 });
  await c.work(closes);
  await c.start('pinned');
  const rest = await history(c, 'pinned', { nextPageToken });
  expect(kindsOf(eventsOf(rest)), 'the first page fixed the end').toBe('TaskScheduled');
});

test('a history of nobody, or of a run that never was, is not found', async () => {
  const c = client();
  await c.start('somebody');
  expect(await refusal(history(c, 'nobody-here'))).toMatchObject({ code: 'not-found' });
  const runId = '00000000-0000-4000-8000-000000000000';
  const execution = { workflowId: 'somebody', runId };
  expect(await refusal(history(c, 'somebody', { execution }))).toMatchObject({ code: 'not-found' });
});
