/**
 * A started workflow task as its worker gets it: from a poll, or inline with the answer to the task before it or to the
 * start of its run (D7).
 */
import { encodeEvents } from '../../wire/event-codec.ts';
import { TaskQueueKind } from '../../wire/enums.ts';
import { pollWorkflowTaskResponse, type PollWorkflowTaskFields } from '../../wire/poll-response.ts';
import { sealToken, WORKFLOW_TASK_TOKEN } from '../../wire/task-token.ts';
import { toTimestamp } from '../../wire/time.ts';
import { toAtollError } from '../../kernel/errors.ts';
import type { WorkflowTaskStartedReply } from '../history/decision.ts';
import type { RunRef, WorkflowQuery } from '../shard/engine.ts';
import type { AdmittedCall, FrontendParts } from './call.ts';
import { readHistoryPage } from './history-page.ts';

const NONE = new Uint8Array(0);

export type StartedWorkflowTask = {
  readonly run: RunRef;
  readonly reply: WorkflowTaskStartedReply;
  /** Its worker knows the run up to its last task, so it gets what came since; others get all, in pages. */
  readonly isSticky: boolean;
  readonly queries?: ReadonlyMap<string, WorkflowQuery>;
  /** Tasks that wait in the same queue. */
  readonly backlog?: number;
};

export async function workflowTaskResponse(
  parts: Pick<FrontendParts, 'engine' | 'config' | 'tokens'>,
  task: StartedWorkflowTask,
  call: AdmittedCall,
): Promise<readonly Uint8Array[]> {
  const { run, reply, isSticky, queries = new Map<string, WorkflowQuery>() } = task;
  const { start, previousStartedEventId, lastStoredEventId, branch } = reply;
  const page = {
    run,
    fromEventId: isSticky ? previousStartedEventId + 1 : 1,
    lastEventId: lastStoredEventId,
    branch,
    maxEvents: 0,
    tail: reply.virtualEvents.length > 0 ? encodeEvents(reply.virtualEvents) : NONE,
  };
  // What was decided with the start has no place in the lineage yet: it is of the start's epoch.
  const branchEpoch = branch?.epoch ?? start.epoch;
  const history = await readHistoryPage(parts, page, call);
  const fields: PollWorkflowTaskFields = {
    ...runFields(run, reply.workflowType, reply.taskQueue),
    taskToken: sealToken(parts.tokens, WORKFLOW_TASK_TOKEN, { ...run, ...start, branchEpoch }),
    previousStartedEventId,
    startedEventId: start.startedEventId,
    attempt: start.attempt,
    backlogCountHint: task.backlog ?? 0,
    nextPageToken: history.nextPageToken,
    scheduledTime: toTimestamp(reply.scheduledAt),
    startedTime: toTimestamp(start.startedAt),
    queries: Object.fromEntries([...queries].map(([id, query]) => [id, wireQuery(query)])),
  };
  return pollWorkflowTaskResponse(fields, history.chunks);
}

/**
 * As above, for an answer that says something else first: that is done and must be said, so a history that cannot be
 * read now costs the task (it times out and is offered again), not the answer.
 */
export async function inlineWorkflowTask(
  parts: Pick<FrontendParts, 'engine' | 'config' | 'tokens' | 'log'>,
  task: Omit<StartedWorkflowTask, 'reply'> & {
    readonly reply: WorkflowTaskStartedReply | undefined;
  },
  call: AdmittedCall,
): Promise<readonly Uint8Array[] | undefined> {
  const { reply, run } = task;
  if (reply === undefined) return undefined;
  try {
    return await workflowTaskResponse(parts, { ...task, reply }, call);
  } catch (thrown) {
    const { code, message } = toAtollError(thrown);
    parts.log.warn({ code, message, ...run }, 'A workflow task could not be handed out inline.');
    return undefined;
  }
}

/** What sdk-core demands of every task beside the task itself. */
export function runFields(run: RunRef, workflowType: string, taskQueue: string) {
  return {
    workflowExecution: { workflowId: run.workflowId, runId: run.runId },
    workflowType: { name: workflowType },
    workflowExecutionTaskQueue: { name: taskQueue, kind: TaskQueueKind.Normal },
  };
}

export function wireQuery(query: WorkflowQuery) {
  return { queryType: query.queryType, queryArgs: query.args, header: query.header };
}
