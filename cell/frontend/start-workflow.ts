/** StartWorkflowExecution and SignalWithStartWorkflowExecution: from request to `StartInput` (BEHAVIOURS 10). */
import { invariant } from '../../kernel/invariant.ts';
import type { Request } from '../../wire/services.ts';
import {
  WorkflowIdConflictPolicy as Conflict,
  WorkflowIdReusePolicy as Reuse,
  type WorkflowExecutionStatus,
} from '../../wire/enums.ts';
import { startWithTaskResponse } from '../../wire/poll-response.ts';
import type { StartInput } from '../history/input.ts';
import type { FrontendParts, Handlers } from './call.ts';
import { badRequest, optionalId, requiredId } from './validate/ids.ts';
import { checkRetryPolicy, nonNegativeMs, refuseUnsupported } from './validate/options.ts';
import { checkSizes } from './validate/payloads.ts';
import { inlineWorkflowTask } from './workflow-task-response.ts';

type StartRequest = Request<'StartWorkflowExecution'>;
type SignalWithStartRequest = Request<'SignalWithStartWorkflowExecution'>;
/** The fields that both requests share, by the same names. */
type CommonRequest = Pick<StartRequest, keyof StartRequest & keyof SignalWithStartRequest>;

export function startWorkflowHandlers(parts: FrontendParts): Handlers {
  return {
    async StartWorkflowExecution(request, call) {
      const workflowId = requiredId('WorkflowId', request.workflowId);
      const rpc = 'StartWorkflowExecution';
      refuseUnsupported(rpc, {
        completionCallbacks: request.completionCallbacks,
        onConflictOptions: attaches(request),
        continuedFailure: request.continuedFailure,
        lastCompletionResult: request.lastCompletionResult,
      });
      const input = startInput(parts, { rpc, request, defaultConflict: Conflict.Fail });
      const { namespaceId } = call;
      const isEager = parts.config.startsInline && request.requestEagerExecution === true;
      const { identity } = input;
      const eagerTask = isEager ? { requestId: parts.rng.uuid(), identity } : undefined;
      const target = { namespaceId, workflowId };
      const reply = await parts.engine.start(target, { ...input, eagerTask }, call);
      invariant(reply.kind === 'started', `a start was answered by ${reply.kind}`);
      const { runId, fresh: started, status } = reply;
      const run = { namespaceId, workflowId, runId };
      const task = await inlineWorkflowTask(
        parts,
        { run, reply: reply.task, isSticky: false },
        call,
      );
      const fields = { runId, started, status: status as WorkflowExecutionStatus };
      return task === undefined ? fields : startWithTaskResponse(fields, task);
    },

    async SignalWithStartWorkflowExecution(request, call) {
      const workflowId = requiredId('WorkflowId', request.workflowId);
      const rpc = 'SignalWithStartWorkflowExecution';
      const name = requiredId('SignalName', request.signalName);
      checkSizes(parts, rpc, { signalInput: request.signalInput });
      const start = startInput(parts, { rpc, request, defaultConflict: Conflict.UseExisting });
      const signal = {
        requestId: start.requestId,
        name,
        input: request.signalInput,
        header: request.header,
        identity: start.identity,
        links: request.links,
      };
      const target = { namespaceId: call.namespaceId, workflowId };
      const reply = await parts.engine.start(target, { ...start, signal }, call);
      invariant(reply.kind === 'started', `a start was answered by ${reply.kind}`);
      return { runId: reply.runId, started: reply.fresh };
    },
  };
}

type StartOptions = {
  readonly rpc: string;
  readonly request: CommonRequest;
  readonly defaultConflict: StartInput['conflictPolicy'];
};

function startInput(parts: FrontendParts, options: StartOptions): StartInput {
  const { rpc, request } = options;
  refuseUnsupported(rpc, {
    cronSchedule: request.cronSchedule,
    versioningOverride: request.versioningOverride,
    timeSkippingConfig: request.timeSkippingConfig,
  });
  checkSizes(parts, rpc, {
    input: request.input,
    header: request.header,
    memo: request.memo,
    searchAttributes: request.searchAttributes,
    userMetadata: request.userMetadata,
  });
  return {
    kind: 'start',
    requestId: optionalId('RequestId', request.requestId) || parts.rng.uuid(),
    identity: optionalId('Identity', request.identity),
    workflowType: requiredId('WorkflowType', request.workflowType?.name),
    taskQueue: requiredId('TaskQueue', request.taskQueue?.name),
    input: request.input,
    header: request.header,
    memo: request.memo,
    searchAttributes: request.searchAttributes,
    executionTimeoutMs: nonNegativeMs('WorkflowExecutionTimeout', request.workflowExecutionTimeout),
    runTimeoutMs: nonNegativeMs('WorkflowRunTimeout', request.workflowRunTimeout),
    taskTimeoutMs: nonNegativeMs('WorkflowTaskTimeout', request.workflowTaskTimeout),
    startDelayMs: nonNegativeMs('WorkflowStartDelay', request.workflowStartDelay),
    retryPolicy: checkRetryPolicy(request.retryPolicy),
    ...policies(request, options.defaultConflict),
    userMetadata: request.userMetadata,
    links: request.links,
    priority: request.priority,
  };
}

/** Unset policies become the defaults, and the old "terminate if running" the pair that replaced it. */
function policies(
  request: CommonRequest,
  defaultConflict: StartInput['conflictPolicy'],
): Pick<StartInput, 'reusePolicy' | 'conflictPolicy'> {
  const reuse = known('WorkflowIdReusePolicy', request.workflowIdReusePolicy ?? 0, Reuse);
  const conflict = known(
    'WorkflowIdConflictPolicy',
    request.workflowIdConflictPolicy ?? 0,
    Conflict,
  );
  if (reuse === Reuse.TerminateIfRunning) {
    if (conflict !== Conflict.Unspecified) {
      throw badRequest(
        'WorkflowIdReusePolicy TERMINATE_IF_RUNNING cannot go with a WorkflowIdConflictPolicy: set only the latter.',
      );
    }
    return { reusePolicy: Reuse.AllowDuplicate, conflictPolicy: Conflict.TerminateExisting };
  }
  if (reuse === Reuse.RejectDuplicate && conflict === Conflict.TerminateExisting) {
    throw badRequest(
      'WorkflowIdReusePolicy REJECT_DUPLICATE cannot go with WorkflowIdConflictPolicy TERMINATE_EXISTING.',
    );
  }
  return {
    reusePolicy: reuse === Reuse.Unspecified ? Reuse.AllowDuplicate : reuse,
    conflictPolicy: conflict === Conflict.Unspecified ? defaultConflict : conflict,
  };
}

function known<Value extends number>(
  field: string,
  value: number,
  values: Readonly<Record<string, Value>>,
): Value {
  const found = Object.values(values).find((one) => one === value);
  if (found === undefined) throw badRequest(`${field} has the unknown value ${value}.`);
  return found;
}

function attaches(request: StartRequest): boolean {
  const { attachRequestId, attachCompletionCallbacks, attachLinks } =
    request.onConflictOptions ?? {};
  return Boolean(attachRequestId) || Boolean(attachCompletionCallbacks) || Boolean(attachLinks);
}
