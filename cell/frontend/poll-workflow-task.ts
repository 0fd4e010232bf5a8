/**
 * PollWorkflowTaskQueue: a workflow task or a query task with the history that its worker needs.
 * A sticky queue's worker knows the run up to its last task, so it gets what came since; others get all, in pages.
 */
import { encodeEvents } from '../../wire/event-codec.ts';
import { TaskQueueKind } from '../../wire/enums.ts';
import { pollWorkflowTaskResponse, type PollWorkflowTaskFields } from '../../wire/poll-response.ts';
import type { Request } from '../../wire/services.ts';
import { QUERY_TASK_TOKEN, sealToken, WORKFLOW_TASK_TOKEN } from '../../wire/task-token.ts';
import { toTimestamp } from '../../wire/time.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { WorkflowTaskStartedReply } from '../history/decision.ts';
import type { OfferedTask } from '../matching/matching.ts';
import type { RunView, WorkflowQuery } from '../shard/engine.ts';
import type { AdmittedCall, FrontendParts, Handlers } from './call.ts';
import { readHistoryPage } from './history-page.ts';
import { pollTask, queueOf } from './poll.ts';
import { optionalId } from './validate/ids.ts';

const NONE = new Uint8Array(0);

export function pollWorkflowTaskHandlers(parts: FrontendParts): Handlers {
  return {
    async PollWorkflowTaskQueue(request, call) {
      const queue = queueOf(call, 'workflow', request.taskQueue);
      const identity = optionalId('Identity', request.identity);
      const polled = await pollTask(parts, { queue, identity }, call);
      if (polled === undefined) return {};
      const { task, started } = polled;
      const isSticky = pollsSticky(request);
      if (started.kind === 'query') {
        return queryTask(parts, { task, isSticky, view: started.view, query: started.query }, call);
      }
      const { reply, queries } = started;
      invariant(reply.kind === 'workflow-task-started', `a start was answered by ${reply.kind}`);
      return workflowTask(parts, { task, isSticky, reply, queries }, call);
    },
  };
}

function pollsSticky(request: Request<'PollWorkflowTaskQueue'>): boolean {
  return request.taskQueue?.kind === TaskQueueKind.Sticky;
}

type WorkflowTaskInHand = {
  readonly task: OfferedTask;
  readonly isSticky: boolean;
  readonly reply: WorkflowTaskStartedReply;
  readonly queries: ReadonlyMap<string, WorkflowQuery>;
};

async function workflowTask(parts: FrontendParts, hand: WorkflowTaskInHand, call: AdmittedCall) {
  const { task, isSticky, reply, queries } = hand;
  const { start, previousStartedEventId, lastStoredEventId } = reply;
  const run = runOf(task);
  const page = {
    run,
    fromEventId: isSticky ? previousStartedEventId + 1 : 1,
    lastEventId: lastStoredEventId,
    maxEvents: 0,
    tail: reply.virtualEvents.length > 0 ? encodeEvents(reply.virtualEvents) : NONE,
  };
  const history = await readHistoryPage(parts, page, call);
  const token = { ...run, ...start };
  const fields: PollWorkflowTaskFields = {
    ...runFields(task, reply.workflowType, reply.taskQueue),
    taskToken: sealToken(parts.tokens, WORKFLOW_TASK_TOKEN, token),
    previousStartedEventId,
    startedEventId: start.startedEventId,
    attempt: start.attempt,
    backlogCountHint: parts.matching.backlog(task.queue).tasks,
    nextPageToken: history.nextPageToken,
    scheduledTime: toTimestamp(reply.scheduledAt),
    startedTime: toTimestamp(start.startedAt),
    queries: Object.fromEntries([...queries].map(([id, query]) => [id, wireQuery(query)])),
  };
  return pollWorkflowTaskResponse(fields, history.chunks);
}

type QueryInHand = {
  readonly task: OfferedTask;
  readonly isSticky: boolean;
  readonly view: RunView;
  readonly query: WorkflowQuery;
};

async function queryTask(parts: FrontendParts, hand: QueryInHand, call: AdmittedCall) {
  const { task, isSticky, view, query } = hand;
  const { state } = view;
  const run = runOf(task);
  const lastEventId = state.nextEventId - 1;
  // A sticky worker has the run in memory and needs no event to answer.
  const fromEventId = isSticky ? lastEventId + 1 : 1;
  const page = { run, fromEventId, lastEventId, maxEvents: 0, tail: NONE };
  const history = await readHistoryPage(parts, page, call);
  const token = { ...run, queryId: task.queryId ?? '', taskQueue: task.queue.name };
  const fields: PollWorkflowTaskFields = {
    ...runFields(task, state.start.workflowType, state.start.taskQueue),
    taskToken: sealToken(parts.tokens, QUERY_TASK_TOKEN, token),
    previousStartedEventId: state.lastCompletedStartedEventId,
    attempt: 1,
    nextPageToken: history.nextPageToken,
    scheduledTime: toTimestamp(task.scheduledAt),
    startedTime: toTimestamp(parts.clock.now()),
    query: wireQuery(query),
  };
  return pollWorkflowTaskResponse(fields, history.chunks);
}

function runOf({ queue, workflowId, runId }: OfferedTask) {
  return { namespaceId: queue.namespaceId, workflowId, runId };
}

/** What sdk-core demands of every task beside the task itself. */
function runFields(task: OfferedTask, workflowType: string, taskQueue: string) {
  return {
    workflowExecution: { workflowId: task.workflowId, runId: task.runId },
    workflowType: { name: workflowType },
    workflowExecutionTaskQueue: { name: taskQueue, kind: TaskQueueKind.Normal },
  };
}

function wireQuery(query: WorkflowQuery) {
  return { queryType: query.queryType, queryArgs: query.args, header: query.header };
}
