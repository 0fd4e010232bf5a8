/** PollWorkflowTaskQueue: a workflow task or a query task with the history that its worker needs. */
import { invariant } from '../../kernel/invariant.ts';
import { TaskQueueKind } from '../../wire/enums.ts';
import { pollWorkflowTaskResponse, type PollWorkflowTaskFields } from '../../wire/poll-response.ts';
import { QUERY_TASK_TOKEN, sealToken } from '../../wire/task-token.ts';
import { toTimestamp } from '../../wire/time.ts';
import { pointAt } from '../history/lineage.ts';
import type { OfferedTask } from '../matching/matching.ts';
import type { RunView, WorkflowQuery } from '../shard/engine.ts';
import type { AdmittedCall, FrontendParts, Handlers } from './call.ts';
import { readHistoryPage } from './history-page.ts';
import { pollTask, queueOf } from './poll.ts';
import { optionalId } from './validate/ids.ts';
import { runFields, wireQuery, workflowTaskResponse } from './workflow-task-response.ts';

const NONE = new Uint8Array(0);

export function pollWorkflowTaskHandlers(parts: FrontendParts): Handlers {
  return {
    async PollWorkflowTaskQueue(request, call) {
      const queue = queueOf(call, 'workflow', request.taskQueue);
      const identity = optionalId('Identity', request.identity);
      const polled = await pollTask(parts, { queue, identity }, call);
      if (polled === undefined) return {};
      const { task, started } = polled;
      const isSticky = request.taskQueue?.kind === TaskQueueKind.Sticky;
      if (started.kind === 'query') {
        return queryTask(parts, { task, isSticky, view: started.view, query: started.query }, call);
      }
      const { reply, queries } = started;
      invariant(reply.kind === 'workflow-task-started', `a start was answered by ${reply.kind}`);
      const backlog = parts.matching.backlog(task.queue).tasks;
      const run = runOf(task);
      return workflowTaskResponse(parts, { run, isSticky, reply, queries, backlog }, call);
    },
  };
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
  const branch = pointAt(state.lineage, lastEventId);
  const page = { run, fromEventId, lastEventId, branch, maxEvents: 0, tail: NONE };
  const history = await readHistoryPage(parts, page, call);
  const token = { ...run, queryId: task.queryId ?? '', taskQueue: task.queue.name };
  const fields: PollWorkflowTaskFields = {
    ...runFields(run, state.start.workflowType, state.start.taskQueue),
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
