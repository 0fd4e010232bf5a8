/**
 * RespondWorkflowTaskCompleted and RespondWorkflowTaskFailed: the answer of a worker to a workflow task (PROTOCOLS 6).
 *
 * Invariants
 *  1. The run comes from the signed token alone (BEHAVIOURS 9, "Security").
 *  2. Answers to queries that rode on the task leave only once its completion is accepted.
 *  3. Commands that no store could take fail the task with their cause; a refused answer would only come again.
 */
import { fromWireCommand } from '../../wire/command-codec.ts';
import { WorkflowTaskFailedCause } from '../../wire/enums.ts';
import type { Command } from '../../wire/events.ts';
import type { Request } from '../../wire/services.ts';
import { invalidArgument } from '../../wire/failures.ts';
import { completedWithTaskResponse } from '../../wire/poll-response.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import type { AtollError } from '../../kernel/errors.ts';
import type { ActivityStartedReply, Reply } from '../history/decision.ts';
import type { RunInput, WorkflowTaskClaim } from '../history/input.ts';
import type { RunRef } from '../shard/engine.ts';
import { ActivityPolls } from './activity-polls.ts';
import { activityTaskResponse } from './activity-task-response.ts';
import type { AdmittedCall, FrontendParts, Handlers } from './call.ts';
import { toAnswer } from './query-workflow.ts';
import { workflowTaskOf } from './tokens.ts';
import { optionalId } from './validate/ids.ts';
import { nonNegativeMs, refuseUnsupported } from './validate/options.ts';
import { checkSizes, isTooLarge } from './validate/payloads.ts';
import { inlineWorkflowTask } from './workflow-task-response.ts';

type CompletedRequest = Request<'RespondWorkflowTaskCompleted'>;

/** What a completion asks of its run: the failure of the task where no store could take its commands. */
type Completion = Extract<RunInput, { kind: 'complete-workflow-task' | 'fail-workflow-task' }>;

/** What a sticky queue gets when its worker says no time. */
const DEFAULT_STICKY_MS = 5_000;

/** A completion that starts activities is followed for so long, whatever the patience of its caller. */
const LONGEST_COMMIT_MS = 60_000;

export function respondWorkflowTaskHandlers(parts: FrontendParts): Handlers {
  return {
    async RespondWorkflowTaskCompleted(request, call) {
      const { run, claim } = workflowTaskOf(parts, request.taskToken, call);
      const input = completion(parts, request, claim);
      const { reply, taken } = await complete(parts, { run, input }, call);
      if (reply.kind === 'workflow-task-rejected') throw rejected(reply);
      if (reply.kind !== 'workflow-task-completed') return {};
      for (const [queryId, result] of Object.entries(request.queryResults ?? {})) {
        parts.engine.answerQuery(run, queryId, toAnswer(result ?? {}));
      }
      parts.engine.askAgain(run);
      const isSticky = stickyOf(request) !== undefined;
      return completed(parts, { run, reply, taken, isSticky }, call);
    },

    async RespondWorkflowTaskFailed(request, call) {
      const { run, claim } = workflowTaskOf(parts, request.taskToken, call);
      checkSizes(parts, 'RespondWorkflowTaskFailed', { failure: request.failure });
      const input: RunInput = {
        kind: 'fail-workflow-task',
        claim,
        cause: (request.cause ?? 0) as WorkflowTaskFailedCause,
        failure: request.failure,
        identity: optionalId('Identity', request.identity),
        binaryChecksum: request.binaryChecksum ?? '',
      };
      await parts.engine.execute(run, input, call);
      return {};
    },
  };
}

/** Asks the run, with polls for the activities that it schedules. `taken`: those that its own worker takes. */
async function complete(
  parts: FrontendParts,
  { run, input }: { readonly run: RunRef; readonly input: Completion },
  call: AdmittedCall,
): Promise<{ readonly reply: Reply; readonly taken: readonly ActivityStartedReply[] }> {
  const { namespaceId } = run;
  const { identity } = input;
  const commands = input.kind === 'complete-workflow-task' ? input.commands : [];
  const polls = ActivityPolls.find(parts, { namespaceId, identity }, commands);
  const release = () => polls.release();
  call.signal.addEventListener('abort', release, { once: true });
  try {
    const { reply } = await execute(parts, { run, input, polls: polls.byCommand }, call);
    const started = reply.kind === 'workflow-task-completed' ? reply.activities : undefined;
    return { reply, taken: polls.handOut(run, started ?? []) };
  } finally {
    call.signal.removeEventListener('abort', release);
    release();
  }
}

/** With polls it is not bound by its caller's end: an activity that it starts late must reach a worker all the same. */
async function execute(
  { engine, clock }: FrontendParts,
  asked: {
    readonly run: RunRef;
    readonly input: Completion;
    readonly polls: ActivityPolls['byCommand'];
  },
  call: AdmittedCall,
) {
  const { run, input, polls: activityPolls } = asked;
  if (activityPolls.size === 0) return engine.execute(run, input, call);
  const withPolls = { ...input, activityPolls };
  const what = `completion of a task of workflow ${run.workflowId}`;
  return withDeadline(clock, { what, timeoutMs: LONGEST_COMMIT_MS }, (signal) =>
    engine.execute(run, withPolls, { ...call, signal }),
  );
}

type Completed = {
  readonly run: RunRef;
  readonly reply: Extract<Reply, { readonly kind: 'workflow-task-completed' }>;
  readonly taken: readonly ActivityStartedReply[];
  readonly isSticky: boolean;
};

/** With what the same worker goes on with: the next workflow task, activities that it took upon itself. */
async function completed(
  parts: FrontendParts,
  { run, reply, taken, isSticky }: Completed,
  call: AdmittedCall,
) {
  const activityTasks = taken.map((started) =>
    activityTaskResponse(parts, { run, reply: started }, call),
  );
  const task = await inlineWorkflowTask(parts, { run, reply: reply.task, isSticky }, call);
  return task === undefined
    ? { activityTasks }
    : completedWithTaskResponse({ activityTasks }, task);
}

/** SDKs know an unhandled command by this very text: its worker only has to poll again (BEHAVIOURS 3). */
function rejected(reply: Extract<Reply, { readonly kind: 'workflow-task-rejected' }>): AtollError {
  const isUnhandled = reply.cause === WorkflowTaskFailedCause.UnhandledCommand;
  return invalidArgument(isUnhandled ? 'UnhandledCommand' : reply.message);
}

function completion(
  parts: Pick<FrontendParts, 'rng' | 'config'>,
  request: CompletedRequest,
  claim: WorkflowTaskClaim,
): Completion {
  refuseUnsupported('RespondWorkflowTaskCompleted', {
    messages: request.messages,
    intermediatePage: request.intermediatePage,
  });
  const identity = optionalId('Identity', request.identity);
  const binaryChecksum = request.binaryChecksum ?? '';
  const commands = (request.commands ?? []).map(fromWireCommand);
  const oversized = commands.find((command) => isTooLarge(command.attributes));
  if (oversized !== undefined) {
    return { ...tooLargeFailure(oversized, claim), identity, binaryChecksum };
  }
  const wantsTask = parts.config.startsInline && request.returnNewWorkflowTask === true;
  return {
    kind: 'complete-workflow-task',
    claim,
    identity,
    commands,
    sticky: stickyOf(request),
    forceNewTask: request.forceCreateNewWorkflowTask ?? false,
    nextTask: wantsTask ? { requestId: parts.rng.uuid(), identity } : undefined,
    sdkMetadata: request.sdkMetadata,
    meteringMetadata: request.meteringMetadata,
    workerVersion: request.workerVersionStamp,
    binaryChecksum,
  };
}

function stickyOf({ stickyAttributes: given }: CompletedRequest) {
  const queue = optionalId('StickyAttributes.WorkerTaskQueue', given?.workerTaskQueue?.name);
  if (queue === '') return undefined;
  const field = 'StickyAttributes.ScheduleToStartTimeout';
  const scheduleToStartMs = nonNegativeMs(field, given?.scheduleToStartTimeout);
  return { queue, scheduleToStartMs: scheduleToStartMs || DEFAULT_STICKY_MS };
}

function tooLargeFailure(command: Command, claim: WorkflowTaskClaim) {
  const message = `The command ${command.kind} is larger than 2 MB: keep large data elsewhere, pass a reference.`;
  return {
    kind: 'fail-workflow-task' as const,
    claim,
    cause: WorkflowTaskFailedCause.PayloadsTooLarge,
    failure: { message, serverFailureInfo: { nonRetryable: true } },
  };
}
