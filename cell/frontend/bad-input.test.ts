/** "Bad input": one row a sentence. Nothing of these reaches the engine. */
import { expect, it } from 'vitest';
import { encodeCbor } from '../../wire/cbor.ts';
import {
  ACTIVITY_TASK_TOKEN,
  QUERY_TASK_TOKEN,
  sealToken,
  WORKFLOW_TASK_TOKEN,
} from '../../wire/task-token.ts';
import type { Request, RpcName } from '../../wire/services.ts';
import { FrontendLab, NS, RUN, runState } from './testing/frontend-lab.ts';

const lab = new FrontendLab();
lab.engine.show(runState());

const long = 'x'.repeat(1_001);
const huge = { payloads: [{ data: new Uint8Array(2 * 1024 * 1024 + 1) }] };
const start = {
  workflowId: 'w',
  workflowType: { name: 'order' },
  taskQueue: { name: 'orders' },
};
const execution = { workflowId: 'w' };

function token(namespaceId: string, kind: 'workflow' | 'activity' | 'query'): Uint8Array {
  const run = { namespaceId, workflowId: 'w', runId: RUN };
  const task = { scheduledEventId: 5, attempt: 1, epoch: 7 };
  const { tokens } = lab;
  if (kind === 'query') {
    return sealToken(tokens, QUERY_TASK_TOKEN, { ...run, queryId: 'q', taskQueue: 'orders' });
  }
  if (kind === 'activity') {
    return sealToken(tokens, ACTIVITY_TASK_TOKEN, { ...run, ...task, activityId: 'a' });
  }
  const shown = { startedEventId: 6, startedAt: 1, historyBytes: 1, suggestContinueAsNew: false };
  return sealToken(tokens, WORKFLOW_TASK_TOKEN, { ...run, ...task, ...shown, requestId: 'p' });
}

const foreign = '10000000-0000-4000-8000-000000000002';
const forged = token(NS, 'activity').slice();
forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
/** Signed by nobody, but of the right shape. */
const unsigned = new Uint8Array([1, 2, 1, ...new Uint8Array(16), ...encodeCbor([NS, 'w', RUN])]);

type Row = readonly [sentence: string, rpc: RpcName, request: object, says: string];

const INVALID: readonly Row[] = [
  ['no namespace', 'StartWorkflowExecution', { ...start, namespace: '' }, 'Namespace is not set'],
  [
    'a namespace of 1,001 characters',
    'StartWorkflowExecution',
    { ...start, namespace: long },
    'Namespace has 1001',
  ],
  [
    'no workflow id',
    'StartWorkflowExecution',
    { ...start, workflowId: '' },
    'WorkflowId is not set',
  ],
  [
    'a workflow id of 1,001 characters',
    'StartWorkflowExecution',
    { ...start, workflowId: long },
    'WorkflowId has 1001',
  ],
  [
    'a NUL in a workflow id',
    'StartWorkflowExecution',
    { ...start, workflowId: 'a\0b' },
    'WorkflowId holds a NUL',
  ],
  [
    'no workflow type',
    'StartWorkflowExecution',
    { ...start, workflowType: {} },
    'WorkflowType is not set',
  ],
  [
    'no task queue',
    'StartWorkflowExecution',
    { ...start, taskQueue: undefined },
    'TaskQueue is not set',
  ],
  [
    'a task queue of 1,001 characters',
    'StartWorkflowExecution',
    { ...start, taskQueue: { name: long } },
    'TaskQueue has 1001',
  ],
  [
    'a request id of 1,001 characters',
    'StartWorkflowExecution',
    { ...start, requestId: long },
    'RequestId has 1001',
  ],
  [
    'an identity of 1,001 characters',
    'StartWorkflowExecution',
    { ...start, identity: long },
    'Identity has 1001',
  ],
  [
    'a negative run timeout',
    'StartWorkflowExecution',
    { ...start, workflowRunTimeout: { seconds: -1 } },
    'WorkflowRunTimeout is negative',
  ],
  [
    'a negative start delay',
    'StartWorkflowExecution',
    { ...start, workflowStartDelay: { seconds: -1 } },
    'WorkflowStartDelay is negative',
  ],
  [
    'a retry policy that shrinks',
    'StartWorkflowExecution',
    { ...start, retryPolicy: { backoffCoefficient: 0.5 } },
    'BackoffCoefficient is below 1',
  ],
  [
    'a maximum interval below the initial one',
    'StartWorkflowExecution',
    { ...start, retryPolicy: { initialInterval: { seconds: 5 }, maximumInterval: { seconds: 1 } } },
    'MaximumInterval is shorter',
  ],
  [
    'negative maximum attempts',
    'StartWorkflowExecution',
    { ...start, retryPolicy: { maximumAttempts: -1 } },
    'MaximumAttempts is negative',
  ],
  [
    'an unknown reuse policy',
    'StartWorkflowExecution',
    { ...start, workflowIdReusePolicy: 99 },
    'unknown value 99',
  ],
  [
    'two policies that exclude each other',
    'StartWorkflowExecution',
    { ...start, workflowIdReusePolicy: 4, workflowIdConflictPolicy: 2 },
    'TERMINATE_IF_RUNNING',
  ],
  [
    'an input of more than 2 MB',
    'StartWorkflowExecution',
    { ...start, input: huge },
    'input has 2097',
  ],
  [
    'a memo of more than 2 MB',
    'StartWorkflowExecution',
    { ...start, memo: { fields: { a: huge.payloads[0] } } },
    'memo has 2097',
  ],
  [
    'no signal name',
    'SignalWorkflowExecution',
    { workflowExecution: execution },
    'SignalName is not set',
  ],
  [
    'no execution to signal',
    'SignalWorkflowExecution',
    { signalName: 's' },
    'Execution is not set',
  ],
  [
    'a run id that is no UUID',
    'SignalWorkflowExecution',
    { workflowExecution: { workflowId: 'w', runId: 'x' }, signalName: 's' },
    'RunId is not a valid run id',
  ],
  [
    'a signal input of more than 2 MB',
    'SignalWorkflowExecution',
    { workflowExecution: execution, signalName: 's', input: huge },
    'input has',
  ],
  [
    'signal-with-start without a signal',
    'SignalWithStartWorkflowExecution',
    start,
    'SignalName is not set',
  ],
  [
    'signal-with-start with a signal input of more than 2 MB',
    'SignalWithStartWorkflowExecution',
    { ...start, signalName: 's', signalInput: huge },
    'signalInput has',
  ],
  ['a query without a type', 'QueryWorkflow', { execution, query: {} }, 'QueryType is not set'],
  ['a query that is not there', 'QueryWorkflow', { execution }, 'Query is not set'],
  [
    'a first run id that is no UUID',
    'RequestCancelWorkflowExecution',
    { workflowExecution: execution, firstExecutionRunId: 'x' },
    'FirstExecutionRunId',
  ],
  [
    'termination details of more than 2 MB',
    'TerminateWorkflowExecution',
    { workflowExecution: execution, details: huge },
    'details has',
  ],
  ['a poll of no queue', 'PollWorkflowTaskQueue', {}, 'TaskQueue is not set'],
  [
    'an activity poll of no queue',
    'PollActivityTaskQueue',
    { taskQueue: { name: '' } },
    'TaskQueue is not set',
  ],
  [
    'a negative page size of a history',
    'GetWorkflowExecutionHistory',
    { execution, maximumPageSize: -1 },
    'MaximumPageSize is negative',
  ],
  [
    'a garbled page token of a history',
    'GetWorkflowExecutionHistory',
    { execution, nextPageToken: new Uint8Array([1, 2]) },
    'next page token of a history',
  ],
  [
    'a task token as page token',
    'GetWorkflowExecutionHistory',
    { execution, nextPageToken: token(NS, 'query') },
    'another kind',
  ],
  [
    'a negative page size of a list',
    'ListWorkflowExecutions',
    { pageSize: -1 },
    'PageSize is negative',
  ],
  [
    'a garbled page token of a list',
    'ListWorkflowExecutions',
    { nextPageToken: new Uint8Array(40) },
    'next page token of a list',
  ],
  [
    'a list filter that does not parse',
    'ListWorkflowExecutions',
    { query: 'nonsense' },
    'not valid at character 1',
  ],
  [
    'GROUP BY in a list',
    'ListWorkflowExecutions',
    { query: 'GROUP BY ExecutionStatus' },
    'CountWorkflowExecutions only',
  ],
  ['no task token', 'RespondWorkflowTaskCompleted', {}, 'workflow task token is empty'],
  [
    'a garbled task token',
    'RespondWorkflowTaskFailed',
    { taskToken: new Uint8Array(30) },
    'not one of ours',
  ],
  [
    'an activity token for a workflow task',
    'RespondWorkflowTaskCompleted',
    { taskToken: token(NS, 'activity') },
    'another kind',
  ],
  ['a token that was changed', 'RespondWorkflowTaskCompleted', { taskToken: forged }, 'signature'],
  ['a token that nobody signed', 'RespondWorkflowTaskFailed', { taskToken: unsigned }, 'signature'],
  [
    'an unknown command',
    'RespondWorkflowTaskCompleted',
    { taskToken: token(NS, 'workflow'), commands: [{ commandType: 77 }] },
    'unknown command type 77',
  ],
  [
    'no activity id',
    'RespondActivityTaskCompletedById',
    { workflowId: 'w' },
    'ActivityId is not set',
  ],
  [
    'a heartbeat of no workflow',
    'RecordActivityTaskHeartbeatById',
    { activityId: 'a' },
    'WorkflowId is not set',
  ],
  ...foreignTokens(),
];

/** Every path on which a token comes in (BEHAVIOURS, "Security"). */
function foreignTokens(): readonly Row[] {
  const says = 'another namespace';
  const rows = (kind: 'workflow' | 'activity' | 'query', rpcs: readonly RpcName[]) =>
    rpcs.map((rpc): Row => [
      `${rpc} of another namespace`,
      rpc,
      { taskToken: token(foreign, kind) },
      says,
    ]);
  return [
    ...rows('workflow', ['RespondWorkflowTaskCompleted', 'RespondWorkflowTaskFailed']),
    ...rows('activity', ['RespondActivityTaskCompleted', 'RespondActivityTaskFailed']),
    ...rows('activity', ['RespondActivityTaskCanceled', 'RecordActivityTaskHeartbeat']),
    ...rows('query', ['RespondQueryTaskCompleted']),
  ];
}

const UNIMPLEMENTED: readonly Row[] = [
  [
    'a cron schedule',
    'StartWorkflowExecution',
    { ...start, cronSchedule: '* * * * *' },
    'cronSchedule',
  ],
  [
    'completion callbacks',
    'StartWorkflowExecution',
    { ...start, completionCallbacks: [{}] },
    'completionCallbacks',
  ],
  [
    'a versioning override',
    'StartWorkflowExecution',
    { ...start, versioningOverride: {} },
    'versioningOverride',
  ],
  [
    'options on conflict',
    'StartWorkflowExecution',
    { ...start, onConflictOptions: { attachRequestId: true } },
    'onConflictOptions',
  ],
  [
    'time skipping',
    'SignalWithStartWorkflowExecution',
    { ...start, signalName: 's', timeSkippingConfig: {} },
    'timeSkippingConfig',
  ],
  [
    'update messages of a worker',
    'RespondWorkflowTaskCompleted',
    { taskToken: token(NS, 'workflow'), messages: [{}] },
    'messages',
  ],
  [
    'reachability of task queues',
    'DescribeTaskQueue',
    { taskQueue: { name: 'q' }, reportTaskReachability: true },
    'reportTaskReachability',
  ],
];

// A worker gives an activity up on `not-found` alone: on anything else it would report its result for ever.
it.each([
  ['a token that was changed', 'RespondActivityTaskCompleted', forged],
  ['a token that nobody signed', 'RespondActivityTaskFailed', unsigned],
] as const)('%s names no activity at %s', async (_sentence, rpc, taskToken) => {
  const error = await lab.fail(rpc, { taskToken } as Request<RpcName>);
  expect(error.code).toBe('not-found');
  expect(error.message).toContain('was not made by this server');
  expect(lab.engine.asked).toEqual([]);
});

it.each(INVALID)('%s is refused at %s', async (_sentence, rpc, request, says) => {
  const error = await lab.fail(rpc, request as Request<RpcName>);
  expect(`${error.code}: ${error.message}`).toContain('invalid-argument: ');
  expect(error.message).toContain(says);
  expect(lab.engine.asked).toEqual([]);
  expect(lab.engine.answers).toEqual([]);
});

it.each(UNIMPLEMENTED)(
  '%s is not silently ignored at %s',
  async (_sentence, rpc, request, says) => {
    const error = await lab.fail(rpc, request as Request<RpcName>);
    expect(`${error.code}: ${error.message}`).toContain('unimplemented: ');
    expect(error.message).toContain(says);
    expect(lab.engine.asked).toEqual([]);
  },
);
