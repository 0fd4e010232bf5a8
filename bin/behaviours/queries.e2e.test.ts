/** Queries from the client's call to the worker's answer (BEHAVIOURS 19). */
import { expect, test } from 'vitest';
import { QueryRejectCondition, WorkflowExecutionStatus as Status } from '../../wire/enums.ts';
import {
  closes,
  command,
  eventsOf,
  kindsOf,
  refusal,
  seconds,
  text,
  until,
  type PolledTask,
  type RawClient,
} from './testing/client.ts';
import { useCell } from './testing/use-cell.ts';

const client = useCell();
const ns = { namespace: 'default' };
const ANSWERED = 1;
const FAILED = 2;

function respond(c: RawClient, task: PolledTask, answer: string) {
  const { taskToken } = task;
  const request = { ...ns, taskToken, completedType: ANSWERED, queryResult: text(answer) } as const;
  return c.cell.call('RespondQueryTaskCompleted', request);
}

/** The answer to the only query that rides on a task. */
function riding(task: PolledTask, answer: string) {
  const [id = ''] = Object.keys(task.queries ?? {});
  return { queryResults: { [id]: { resultType: ANSWERED, answer: text(answer) } } } as const;
}

/**
 * Once other calls, sent later, have made their way into the engine and back a few times, so has a query: it rides on the
 * pending task that is polled next.
 */
async function registered(c: RawClient): Promise<void> {
  for (let trip = 0; trip < 20; trip += 1) await refusal(c.describe('nobody'));
}

test('a query of an idle run is a task of its own with the whole history, and leaves no event', async () => {
  const c = client();
  await c.start('idle');
  await c.work();
  const before = await c.kinds('idle');
  const asked = c.query('idle', 'state');
  const task = await c.task();
  expect(task.query?.queryType).toBe('state');
  expect(kindsOf(eventsOf(task))).toBe(before);
  await respond(c, task, 'fine');
  expect((await asked).queryResult).toEqual(text('fine'));
  expect(await c.kinds('idle')).toBe(before);
});

test('a query after a signal sees it: it rides on the task that the signal made', async () => {
  const c = client();
  await c.start('signalled');
  await c.work();
  await c.signal('signalled', 'news');
  const asked = c.query('signalled', 'state');
  await registered(c);
  const task = await c.task();
  expect(kindsOf(eventsOf(task))).toContain('Signaled');
  await c.complete(task, [], riding(task, 'news seen'));
  expect((await asked).queryResult).toEqual(text('news seen'));
});

test('a query whose task was completed without its answer is asked again', async () => {
  const c = client();
  await c.start('unanswered');
  const asked = c.query('unanswered', 'state');
  await registered(c);
  const task = await c.task();
  expect(Object.keys(task.queries ?? {})).toHaveLength(1);
  await c.complete(task);
  const again = await c.task();
  expect(again.query?.queryType).toBe('state');
  await respond(c, again, 'late');
  expect((await asked).queryResult).toEqual(text('late'));
});

test('a query whose task failed is asked again with the next attempt', async () => {
  const c = client();
  await c.start('failed-once');
  const asked = c.query('failed-once', 'state');
  await registered(c);
  await c.failTask(await c.task());
  const second = await c.task();
  await c.complete(second, [], riding(second, 'second'));
  expect((await asked).queryResult).toEqual(text('second'));
});

test('a query that rode on the last task of a run gets its answer', async () => {
  const c = client();
  await c.start('last');
  const asked = c.query('last', 'state');
  await registered(c);
  const task = await c.task();
  await c.complete(task, [closes], riding(task, 'end'));
  expect((await asked).queryResult).toEqual(text('end'));
});

test('a closed run answers, unless the caller wants only open or cleanly completed ones', async () => {
  const c = client();
  await c.start('closed');
  await c.terminate('closed');
  const asked = c.query('closed', 'state');
  const task = await c.task();
  expect(kindsOf(eventsOf(task))).toBe('Started TaskScheduled Terminated');
  await respond(c, task, 'was');
  expect((await asked).queryResult).toEqual(text('was'));
  const execution = { workflowId: 'closed' };
  for (const condition of ['NotOpen', 'NotCompletedCleanly'] as const) {
    const queryRejectCondition = QueryRejectCondition[condition];
    const request = { ...ns, execution, query: { queryType: 'q' }, queryRejectCondition };
    const { queryRejected } = await c.cell.call('QueryWorkflow', request);
    expect(queryRejected?.status).toBe(Status.Terminated);
  }
});

test('a query that nobody answers fails at its deadline and names the queue that has no worker', async () => {
  const c = client();
  await c.start('nobody');
  const refused = await refusal(c.query('nobody', 'state', { timeoutMs: 300 }));
  expect(refused.code).toBe('deadline-exceeded');
});

test('a run whose task keeps failing says so at once', async () => {
  const c = client();
  await c.start('failing');
  await c.failTask(await c.task());
  await c.failTask(await c.task());
  const refused = await refusal(c.query('failing', 'state'));
  expect(refused).toMatchObject({
    code: 'failed-precondition',
    details: ['WorkflowNotReadyFailure'],
  });
});

test('what the query itself throws reaches the caller', async () => {
  const c = client();
  await c.start('throws');
  await c.work();
  const asked = refusal(c.query('throws', 'state'));
  const { taskToken } = await c.task();
  const failure = { message: 'no such query', applicationFailureInfo: { type: 'T' } };
  const answer = {
    ...ns,
    taskToken,
    completedType: FAILED,
    errorMessage: 'no such query',
    failure,
  };
  await c.cell.call('RespondQueryTaskCompleted', answer as never);
  expect(await asked).toEqual({
    code: 'invalid-argument',
    message: 'no such query',
    details: ['QueryFailedFailure'],
  });
});

test('many queries at once are all answered, each with its own answer', async () => {
  const c = client();
  await c.start('many');
  await c.work();
  const asked = Promise.all(Array.from({ length: 20 }, (_, n) => c.query('many', `q${n}`)));
  for (let n = 0; n < 20; n += 1) {
    const task = await c.task();
    await respond(c, task, task.query?.queryType ?? '');
  }
  const answers = (await asked).map(({ queryResult }) => queryResult);
  expect(answers).toEqual(Array.from({ length: 20 }, (_, n) => text(`q${n}`)));
});

test('a query of a sticky run goes to the sticky worker without history', async () => {
  const c = client();
  const sticky = { name: `${c.queue}-sticky`, kind: 2 } as const;
  await c.start('sticky');
  await c.pollTask({ taskQueue: sticky });
  const stickyAttributes = { workerTaskQueue: sticky, scheduleToStartTimeout: seconds(10) };
  await c.complete(await c.task(), [], { stickyAttributes });
  const asked = c.query('sticky', 'state');
  const task = await c.task({ taskQueue: sticky });
  expect(eventsOf(task)).toEqual([]);
  await respond(c, task, 'cached');
  expect((await asked).queryResult).toEqual(text('cached'));
});

test('a query of a run whose sticky worker is gone goes to the normal queue', async () => {
  const c = client();
  const sticky = { name: `${c.queue}-sticky`, kind: 2 } as const;
  await c.start('gone');
  await c.pollTask({ taskQueue: sticky });
  const stickyAttributes = { workerTaskQueue: sticky, scheduleToStartTimeout: seconds(0.2) };
  await c.complete(await c.task(), [command('RecordMarker', { markerName: 'm' })], {
    stickyAttributes,
  });
  const asked = c.query('gone', 'state');
  const task = await c.task();
  expect(kindsOf(eventsOf(task))).toBe(
    'Started TaskScheduled TaskStarted TaskCompleted MarkerRecorded',
  );
  await respond(c, task, 'replayed');
  expect((await asked).queryResult).toEqual(text('replayed'));
});

test('a query does not start or disturb a task that is in hand', async () => {
  const c = client();
  await c.start('in-hand');
  const task = await c.task();
  const asked = c.query('in-hand', 'state');
  expect((await c.pollTask()).taskToken).toBeUndefined();
  await c.complete(task);
  const own = await c.task();
  await respond(c, own, 'after');
  expect((await asked).queryResult).toEqual(text('after'));
  await until(async () => (await c.kinds('in-hand')).endsWith('TaskCompleted'));
});
