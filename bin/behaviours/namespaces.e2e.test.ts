/** A caller of one namespace never reaches another, on any path ("Security: which namespace?"). */
import { expect, test } from 'vitest';
import {
  closes,
  command,
  refusal,
  refusals,
  seconds,
  text,
  until,
  type RawClient,
} from './testing/client.ts';
import { useCell } from './testing/use-cell.ts';

const client = useCell();
const stranger = () => client({ namespace: 'other' });
const other = { namespace: 'other' };

const activity = command('ScheduleActivityTask', {
  activityId: 'a',
  activityType: { name: 'act' },
  startToCloseTimeout: seconds(30),
});

test('an id of another namespace is not found by any call', async () => {
  const c = client();
  const runId = await c.start('mine');
  const s = stranger();
  const execution = { workflowId: 'mine', runId };
  const calls: Promise<unknown>[] = [
    s.signal('mine', 's'),
    s.signal('mine', 's', { workflowExecution: execution }),
    s.cancel('mine'),
    s.cancel('mine', { workflowExecution: execution, firstExecutionRunId: runId }),
    s.terminate('mine'),
    s.terminate('mine', { workflowExecution: execution }),
    s.query('mine', 'q'),
    s.describe('mine', runId),
    s.events('mine', runId),
    s.cell.call('RespondActivityTaskCompletedById', {
      ...other,
      workflowId: 'mine',
      activityId: 'a',
    }),
    s.cell.call('RespondActivityTaskFailedById', {
      ...other,
      workflowId: 'mine',
      runId,
      activityId: 'a',
    }),
    s.cell.call('RespondActivityTaskCanceledById', {
      ...other,
      workflowId: 'mine',
      activityId: 'a',
    }),
    s.cell.call('RecordActivityTaskHeartbeatById', {
      ...other,
      workflowId: 'mine',
      activityId: 'a',
    }),
  ];
  for (const refused of await refusals(calls)) expect(refused).toMatchObject({ code: 'not-found' });
  expect(await c.kinds('mine')).toBe('Started TaskScheduled');
});

test('the same id and request id in two namespaces are two runs', async () => {
  const c = client();
  const s = stranger();
  const [mine, theirs] = [
    await c.start('same', { requestId: 'r' }),
    await s.start('same', { requestId: 'r' }),
  ];
  expect(mine).not.toBe(theirs);
  await s.terminate('same');
  expect(await c.kinds('same')).toBe('Started TaskScheduled');
});

test('tasks of a queue of the same name in another namespace are not handed out', async () => {
  const c = client();
  await c.start('queue');
  const { taskToken } = await stranger().pollTask({ taskQueue: { name: c.queue } });
  expect(taskToken).toBeUndefined();
  await c.work(closes);
});

test('goodbyes of another namespace do not touch a sticky queue of the same name', async () => {
  const c = client();
  const sticky = { name: `${c.queue}-sticky`, kind: 2 } as const;
  await c.start('sticky');
  const stickyAttributes = { workerTaskQueue: sticky, scheduleToStartTimeout: seconds(30) };
  await c.pollTask({ taskQueue: sticky });
  await c.complete(await c.task(), [], { stickyAttributes });
  await c.cell.call('ShutdownWorker', { ...other, stickyTaskQueue: sticky.name });
  await c.signal('sticky', 's');
  expect((await c.task({ taskQueue: sticky })).attempt).toBe(1);
});

test('task tokens are good in their own namespace only', async () => {
  const c = client();
  await c.start('token');
  await c.work(activity);
  const held = await c.activity();
  await c.signal('token', 's');
  const task = await c.task();
  const s = stranger();
  const { taskToken } = held;
  const calls: Promise<unknown>[] = [
    s.complete(task),
    s.failTask(task),
    s.cell.call('RespondQueryTaskCompleted', { ...other, taskToken: task.taskToken }),
    s.cell.call('RespondActivityTaskCompleted', { ...other, taskToken }),
    s.cell.call('RespondActivityTaskFailed', { ...other, taskToken }),
    s.cell.call('RespondActivityTaskCanceled', { ...other, taskToken }),
    s.cell.call('RecordActivityTaskHeartbeat', { ...other, taskToken }),
  ];
  for (const refused of await refusals(calls))
    expect(refused).toMatchObject({ code: 'invalid-argument' });
  await c.complete(task);
  await c.cell.call('RespondActivityTaskCompleted', { namespace: 'default', taskToken });
});

test.each([
  ['empty', () => new Uint8Array()],
  ['garbled', (token: Uint8Array) => token.map((byte, at) => (at === 12 ? byte ^ 1 : byte))],
  ['cut', (token: Uint8Array) => token.slice(0, -1)],
  ['lengthened', (token: Uint8Array) => new Uint8Array([...token, 0])],
  ['foreign', () => new TextEncoder().encode('not a token of ours at all')],
] as const)('a token that is %s is refused, and nothing is applied', async (name, spoil) => {
  const c = client();
  await c.start(`spoilt ${name}`);
  await c.work(activity);
  const held = await c.activity();
  await c.signal(`spoilt ${name}`, 's');
  const task = await c.task();
  const before = await c.kinds(`spoilt ${name}`);
  const spoiltTask = { taskToken: spoil(task.taskToken ?? new Uint8Array()) };
  const taskToken = spoil(held.taskToken ?? new Uint8Array());
  const ns = { namespace: 'default' };
  const ofWorkflow: Promise<unknown>[] = [
    c.complete(spoiltTask, [closes]),
    c.failTask(spoiltTask),
    c.cell.call('RespondQueryTaskCompleted', { ...ns, ...spoiltTask }),
  ];
  const ofActivity: Promise<unknown>[] = [
    c.cell.call('RespondActivityTaskCompleted', { ...ns, taskToken }),
    c.cell.call('RespondActivityTaskFailed', { ...ns, taskToken }),
    c.cell.call('RespondActivityTaskCanceled', { ...ns, taskToken }),
    c.cell.call('RecordActivityTaskHeartbeat', { ...ns, taskToken }),
  ];
  const [asWorker, asActivity] = await Promise.all([refusals(ofWorkflow), refusals(ofActivity)]);
  for (const { code } of asWorker) expect(code).toBe('invalid-argument');
  // A worker gives up an activity that is not found; one whose server was replaced must not heartbeat for ever.
  const code = name === 'empty' ? 'invalid-argument' : 'not-found';
  for (const refused of asActivity) expect(refused.code).toBe(code);
  expect(await c.kinds(`spoilt ${name}`)).toBe(before);
});

test('a token of one kind is not taken for another', async () => {
  const c = client();
  await c.start('kinds');
  await c.work(activity);
  const held = await c.activity();
  await c.signal('kinds', 's');
  const task = await c.task();
  const ns = { namespace: 'default' };
  const page = await c.cell.call('GetWorkflowExecutionHistory', {
    ...ns,
    execution: { workflowId: 'kinds' },
    maximumPageSize: 1,
  });
  const calls: Promise<unknown>[] = [
    c.complete(held),
    c.complete({ taskToken: page.nextPageToken }),
    c.cell.call('RespondActivityTaskCompleted', { ...ns, taskToken: task.taskToken }),
    c.cell.call('RespondQueryTaskCompleted', { ...ns, taskToken: task.taskToken }),
    c.cell.call('ListWorkflowExecutions', { ...ns, nextPageToken: page.nextPageToken }),
  ];
  for (const refused of await refusals(calls))
    expect(refused).toMatchObject({ code: 'invalid-argument' });
});

test('page tokens of histories and lists are good in their own namespace only', async () => {
  const c = client();
  const s = stranger();
  await c.start('pages');
  await c.start('pages-2');
  await s.start('pages');
  const execution = { workflowId: 'pages' };
  const ns = { namespace: 'default' };
  const page = await c.cell.call('GetWorkflowExecutionHistory', {
    ...ns,
    execution,
    maximumPageSize: 1,
  });
  const { nextPageToken } = page;
  const foreign = s.cell.call('GetWorkflowExecutionHistory', {
    ...other,
    execution,
    nextPageToken,
  });
  expect(await refusal(foreign)).toMatchObject({ code: 'invalid-argument' });
  let listed = await c.cell.call('ListWorkflowExecutions', { ...ns, pageSize: 1 });
  await until(async () => {
    listed = await c.cell.call('ListWorkflowExecutions', { ...ns, pageSize: 1 });
    return (listed.nextPageToken?.length ?? 0) > 0;
  });
  const list = s.cell.call('ListWorkflowExecutions', {
    ...other,
    nextPageToken: listed.nextPageToken,
  });
  expect(await refusal(list)).toMatchObject({ code: 'invalid-argument' });
});

test('lists, counts and the older lists show the own namespace only', async () => {
  const c = client();
  await c.start('secret', { workflowType: { name: 'secret-type' }, input: text('x') });
  const query = "WorkflowType = 'secret-type'";
  const counted = async (r: RawClient) =>
    Number(
      (await r.cell.call('CountWorkflowExecutions', { namespace: r.namespace, query })).count ?? 0,
    );
  await until(async () => (await counted(c)) === 1);
  const s = stranger();
  expect(await counted(s)).toBe(0);
  const either = `${query} OR WorkflowId = 'secret'`;
  for (const name of ['ListWorkflowExecutions', 'ScanWorkflowExecutions'] as const) {
    const { executions } = await s.cell.call(name, { ...other, query: either });
    expect(executions ?? []).toEqual([]);
  }
  const typeFilter = { name: 'secret-type' };
  const open = await s.cell.call('ListOpenWorkflowExecutions', { ...other, typeFilter });
  expect(open.executions ?? []).toEqual([]);
});

test('the header and the body must name the same namespace', async () => {
  const c = client();
  await c.start('header');
  const request = { namespace: 'default', execution: { workflowId: 'header' } };
  const call = (headers: Record<string, string>, namespace = 'default') =>
    c.cell.call('DescribeWorkflowExecution', { ...request, namespace }, { headers });
  expect(await refusal(call({ 'temporal-namespace': 'other' }))).toMatchObject({
    code: 'invalid-argument',
  });
  expect((await call({ 'temporal-namespace': 'default' }, '')).workflowExecutionInfo).toBeDefined();
  expect(await refusal(call({}, ''))).toMatchObject({ code: 'invalid-argument' });
});

test('a namespace that nobody registered is named in the refusal, whoever calls', async () => {
  const nobody = client({ namespace: 'nowhere' });
  const calls: Promise<unknown>[] = [
    nobody.start('a'),
    nobody.signal('a', 's'),
    nobody.pollTask(),
    nobody.pollActivity(),
    nobody.describe('a'),
    nobody.query('a', 'q'),
  ];
  for (const refused of await refusals(calls)) {
    expect(refused).toMatchObject({ code: 'not-found', details: ['NamespaceNotFoundFailure'] });
    expect(refused.message).toContain('nowhere');
  }
});
