/**
 * The first transition of a run that a client starts: started, signaled (signal-with-start), first task scheduled
 * unless something delays it.
 *
 * Invariants
 *  1. WorkflowExecutionStarted holds every timeout, with its default: nothing is defaulted later.
 *  2. No run goes on longer than its chain may.
 */
import { invariant } from '../../kernel/invariant.ts';
import { ContinueAsNewInitiator, TaskQueueKind } from '../../wire/enums.ts';
import type { EventAttributes } from '../../wire/events.ts';
import type { DecideContext, StartScope, Step } from './decision.ts';
import { Draft } from './draft.ts';
import { LONGEST_MS, toDuration } from './durations.ts';
import type { StartInput } from './input.ts';
import { normaliseRetryPolicy } from './retry-policy.ts';
import { isKnownSignal, writeSignal } from './signal.ts';
import { toTimestamp } from './timestamps.ts';
import { scheduleTask } from './workflow-task/schedule.ts';

const DEFAULT_TASK_TIMEOUT_MS = 10_000;
const LONGEST_TASK_TIMEOUT_MS = 120_000;

export function newRun(scope: StartScope, input: StartInput, ctx: DecideContext): Step {
  const { namespaceId, workflowId } = scope;
  const runId = ctx.freshRunId;
  const attributes = startedAttributes({ ...scope, runId }, input, ctx);
  const draft = Draft.begin({ namespaceId, workflowId, runId }, attributes, ctx, {
    userMetadata: input.userMetadata,
    links: input.links,
  });
  draft.patch({ kind: 'start-request', requestId: input.requestId });
  draft.remember({ requestId: input.requestId, kind: 'start' });
  if (input.signal && !isKnownSignal(input.signal, ctx))
    writeSignal(draft, input.signal, input.requestId);
  if (draft.state.firstTaskAt === undefined) scheduleTask(draft);
  return draft.finish();
}

function startedAttributes(
  ids: { readonly workflowId: string; readonly runId: string },
  input: StartInput,
  ctx: DecideContext,
): EventAttributes<'WorkflowExecutionStarted'> {
  invariant(input.workflowType !== '' && input.taskQueue !== '', 'a start without type or queue');
  const timeouts = startTimeouts(input);
  const expiresAt =
    timeouts.executionMs > 0 ? ctx.now + input.startDelayMs + timeouts.executionMs : 0;
  return {
    workflowType: { name: input.workflowType },
    taskQueue: { name: input.taskQueue, kind: TaskQueueKind.Normal },
    input: input.input,
    workflowExecutionTimeout: toDuration(timeouts.executionMs),
    workflowRunTimeout: toDuration(timeouts.runMs),
    workflowTaskTimeout: toDuration(timeouts.taskMs),
    initiator: ContinueAsNewInitiator.Unspecified,
    originalExecutionRunId: ids.runId,
    identity: input.identity,
    firstExecutionRunId: ids.runId,
    retryPolicy: retryPolicy(input),
    attempt: 1,
    workflowExecutionExpirationTime: expiresAt > 0 ? toTimestamp(expiresAt) : undefined,
    firstWorkflowTaskBackoff: toDuration(input.startDelayMs),
    memo: input.memo,
    searchAttributes: input.searchAttributes,
    header: input.header,
    workflowId: ids.workflowId,
    priority: input.priority,
    eagerExecutionAccepted: input.eagerTask !== undefined && input.startDelayMs === 0,
  };
}

type Timeouts = {
  readonly executionMs: number;
  readonly runMs: number;
  readonly taskMs: number;
};

/** A run may not outlast its chain, nor a task its run. */
function startTimeouts(input: StartInput): Timeouts {
  const executionMs = Math.min(input.executionTimeoutMs, LONGEST_MS);
  const runMs = smallestSet(Math.min(input.runTimeoutMs, LONGEST_MS), executionMs);
  const asked = input.taskTimeoutMs > 0 ? input.taskTimeoutMs : DEFAULT_TASK_TIMEOUT_MS;
  const taskMs = smallestSet(Math.min(asked, LONGEST_TASK_TIMEOUT_MS), runMs);
  return { executionMs, runMs, taskMs };
}

function smallestSet(a: number, b: number): number {
  if (a === 0 || b === 0) return Math.max(a, b);
  return Math.min(a, b);
}

/** Workflows are retried only where a policy is given. */
function retryPolicy(input: StartInput): StartInput['retryPolicy'] {
  if (input.retryPolicy === undefined) return undefined;
  const checked = normaliseRetryPolicy(input.retryPolicy);
  invariant(checked.kind === 'policy', 'a retry policy that the frontend should have refused');
  return checked.policy;
}
