/** Input that no store could take, on every path that takes input: refused, nothing written, the cell goes on (issue: bad input). */
import { expect, test } from 'vitest';
import { PAYLOAD_LIMIT_BYTES } from '../../wire/payload-limits.ts';
import { METHODS, WORKFLOW_SERVICE, type RpcName } from '../../wire/services.ts';
import { WorkflowTaskFailedCause as Cause } from '../../wire/enums.ts';
import {
  closes,
  command,
  kindsOf,
  refusal,
  refusals,
  seconds,
  text,
  type RawClient,
} from './testing/client.ts';
import { useCell } from './testing/use-cell.ts';

const client = useCell();
const ns = { namespace: 'default' };
const path = (name: string) => `/${WORKFLOW_SERVICE}/${name}`;
const large = text('x'.repeat(PAYLOAD_LIMIT_BYTES + 1));
const NOT_BYTES = new Uint8Array([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x01]);

test.each([
  ['empty', ''],
  ['of 1,001 characters', 'x'.repeat(1_001)],
  ['with a NUL', 'a\0b'],
] as const)('an id or name %s is refused everywhere', async (_, id) => {
  const c = client();
  await c.start('a');
  const calls: Promise<unknown>[] = [
    c.start(id),
    c.start('x', { workflowType: { name: id } }),
    c.start('x', { taskQueue: { name: id } }),
    c.signal(id, 's'),
    c.signal('a', id),
    c.cancel(id),
    c.terminate(id),
    c.query(id, 'q'),
    c.query('a', id),
    c.describe(id),
    c.events(id),
    c.pollTask({ taskQueue: { name: id } }),
  ];
  for (const refused of await refusals(calls))
    expect(refused).toMatchObject({ code: 'invalid-argument' });
  expect(await refusal(c.describe('x'))).toMatchObject({ code: 'not-found' });
  expect(await c.kinds('a')).toBe('Started TaskScheduled');
  await c.terminate('a');
});

test.each([
  ['request id', { requestId: 'x'.repeat(1_001) }],
  ['identity', { identity: 'a\0b' }],
  ['negative run timeout', { workflowRunTimeout: { seconds: -1 } }],
  ['negative start delay', { workflowStartDelay: { seconds: -1 } }],
  ['retry coefficient', { retryPolicy: { backoffCoefficient: 0.5 } }],
  ['reuse policy', { workflowIdReusePolicy: 99 as never }],
  ['conflict policy', { workflowIdConflictPolicy: 99 as never }],
  ['cron', { cronSchedule: '* * * * *' }],
  ['input of over 2 MB', { input: large }],
  ['memo of over 2 MB', { memo: { fields: { m: large.payloads?.[0] } } }],
] as const)('a start with a bad %s is refused and starts nothing', async (name, fields) => {
  const c = client();
  const refused = await refusal(c.start(`bad ${name}`, fields));
  expect(['invalid-argument', 'unimplemented']).toContain(refused.code);
  expect(await refusal(c.describe(`bad ${name}`))).toMatchObject({ code: 'not-found' });
});

test('a payload of over 2 MB is refused on every path of a client', async () => {
  const c = client();
  await c.start('large');
  const workflowExecution = { workflowId: 'large' };
  const calls: Promise<unknown>[] = [
    c.signal('large', 's', { input: large }),
    c.terminate('large', { details: large }),
    c.cell.call('QueryWorkflow', {
      ...ns,
      execution: workflowExecution,
      query: { queryType: 'q', queryArgs: large },
    }),
    c.cell.call('SignalWithStartWorkflowExecution', {
      ...ns,
      workflowId: 'large-2',
      workflowType: { name: 'raw' },
      taskQueue: { name: c.queue },
      signalName: 's',
      signalInput: large,
    }),
  ];
  for (const refused of await refusals(calls))
    expect(refused).toMatchObject({ code: 'invalid-argument' });
  expect(await c.kinds('large')).toBe('Started TaskScheduled');
  expect(await refusal(c.describe('large-2'))).toMatchObject({ code: 'not-found' });
});

test('a command of over 2 MB fails the task with its cause', async () => {
  const c = client();
  await c.start('large-command');
  await c.complete(await c.task(), [command('CompleteWorkflowExecution', { result: large })]);
  const events = await c.events('large-command');
  expect(kindsOf(events)).toBe('Started TaskScheduled TaskStarted TaskFailed');
  expect(events[3]?.attributes).toMatchObject({ cause: Cause.PayloadsTooLarge });
});

test('a result of over 2 MB fails the activity for good', async () => {
  const c = client();
  await c.start('large-result');
  await c.work(
    command('ScheduleActivityTask', {
      activityId: 'a',
      activityType: { name: 'act' },
      startToCloseTimeout: seconds(10),
    }),
  );
  const { taskToken } = await c.activity();
  await c.cell.call('RespondActivityTaskCompleted', { ...ns, taskToken, result: large });
  const events = await c.events('large-result');
  expect(kindsOf(events.slice(5, 7))).toBe('ActivityTaskStarted ActivityTaskFailed');
  await c.work(closes);
});

test('a message of over the size that the wire takes is refused', async () => {
  const c = client();
  const huge = text('x'.repeat(20 * 1024 * 1024));
  expect((await refusal(c.start('huge', { input: huge }))).code).toMatch(
    /resource-exhausted|invalid/,
  );
});

test('malformed bytes are refused by every RPC', async () => {
  const { cell } = client();
  for (const name of [...METHODS.keys()].filter((one) => one.startsWith(path('')))) {
    const { code } = await refusal(cell.send(name, NOT_BYTES));
    expect(`${name} ${code}`).toMatch(/ (invalid-argument|unimplemented)$/);
  }
});

test('an empty message is refused by every RPC that needs more, and never crashes one', async () => {
  const { cell } = client();
  const answered: string[] = [];
  for (const name of [...METHODS.keys()].filter((one) => one.startsWith(path('')))) {
    const headers = { 'temporal-namespace': 'default' };
    const outcome = await cell
      .send(name, new Uint8Array(), { headers, timeoutMs: 1_000 })
      .then(() => 'answered')
      .catch((thrown: { code: string }) => thrown.code);
    if (outcome === 'answered') answered.push(name.slice(path('').length));
    else expect(`${name} ${outcome}`).toMatch(/ (invalid-argument|unimplemented|not-found)$/);
  }
  const harmless: RpcName[] = [
    'DescribeNamespace',
    'GetSystemInfo',
    'ListOpenWorkflowExecutions',
    'ListClosedWorkflowExecutions',
    'ListWorkflowExecutions',
    'ScanWorkflowExecutions',
    'CountWorkflowExecutions',
    'ShutdownWorker',
  ];
  expect(answered.filter((name) => !harmless.includes(name as RpcName))).toEqual([]);
});

test.each([
  ['an unknown method', path('DrinkTea')],
  ['an unknown service', '/temporal.api.nowhere.v1.Service/Method'],
  ['a path without parts', '/'],
  ['a name of the prototype', path('constructor')],
] as const)('%s is unimplemented', async (_, where) => {
  const refused = await refusal(client().cell.send(where, new Uint8Array()));
  expect(refused.code).toBe('unimplemented');
});

test('what is not built yet is refused by name', async () => {
  const { cell } = client();
  const calls: readonly Promise<unknown>[] = [
    cell.call('UpdateWorkflowExecution', { ...ns, workflowExecution: { workflowId: 'a' } }),
    cell.call('ResetWorkflowExecution', { ...ns, workflowExecution: { workflowId: 'a' } }),
    cell.call('CreateSchedule', { ...ns, scheduleId: 's' }),
    cell.call('StartBatchOperation', { ...ns, jobId: 'j' }),
  ];
  for (const refused of await refusals(calls)) {
    expect(refused).toMatchObject({ code: 'unimplemented' });
  }
});

test.each([
  ['a child', command('StartChildWorkflowExecution', { workflowId: 'x' })],
  ['continue-as-new', command('ContinueAsNewWorkflowExecution', {})],
  ['a signal to another run', command('SignalExternalWorkflowExecution', {})],
  ['a cancel of another run', command('RequestCancelExternalWorkflowExecution', {})],
] as const)('%s fails its task and says that it is not built yet', async (name, unbuilt) => {
  const c = client();
  await c.start(`unbuilt ${name}`);
  const refused = await refusal(c.complete(await c.task(), [unbuilt]));
  expect(refused.message).toMatch(/not (implemented|built|supported)/i);
  expect(await c.kinds(`unbuilt ${name}`)).toBe('Started TaskScheduled TaskStarted TaskFailed');
});

test('an odd deadline of the client does not hurt', async () => {
  const c: RawClient = client();
  const gone = await refusal(c.pollTask({}, { timeoutMs: 1 }));
  expect(gone.code).toBe('deadline-exceeded');
  const headers = { 'grpc-timeout': 'soon' };
  const answer = c.cell.send(path('GetSystemInfo'), new Uint8Array(), { headers });
  await answer.catch((thrown: { code: string }) => expect(thrown.code).toBe('invalid-argument'));
});
