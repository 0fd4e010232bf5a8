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
import type { RunInput, WorkflowTaskClaim } from '../history/input.ts';
import type { FrontendParts, Handlers } from './call.ts';
import { toAnswer } from './query-workflow.ts';
import { workflowTaskOf } from './tokens.ts';
import { optionalId } from './validate/ids.ts';
import { nonNegativeMs, refuseUnsupported } from './validate/options.ts';
import { checkSizes, isTooLarge } from './validate/payloads.ts';

type CompletedRequest = Request<'RespondWorkflowTaskCompleted'>;

/** What a sticky queue gets when its worker says no time. */
const DEFAULT_STICKY_MS = 5_000;

export function respondWorkflowTaskHandlers(parts: FrontendParts): Handlers {
  return {
    async RespondWorkflowTaskCompleted(request, call) {
      const { run, claim } = workflowTaskOf(parts, request.taskToken, call);
      const input = completion(request, claim);
      const { reply } = await parts.engine.execute(run, input, call);
      if (reply.kind === 'obsolete' || input.kind === 'fail-workflow-task') return {};
      for (const [queryId, result] of Object.entries(request.queryResults ?? {})) {
        parts.engine.answerQuery(run, queryId, toAnswer(result ?? {}));
      }
      return {};
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

function completion(request: CompletedRequest, claim: WorkflowTaskClaim): RunInput {
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
  return {
    kind: 'complete-workflow-task',
    claim,
    identity,
    commands,
    sticky: stickyOf(request),
    forceNewTask: request.forceCreateNewWorkflowTask ?? false,
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
