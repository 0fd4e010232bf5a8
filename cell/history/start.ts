/**
 * Starting a run of a workflow id: who is there already decides (request ids, then the conflict policy for an open
 * run, the reuse policy for a closed one), then the first transition of the new run is made.
 *
 * Place: `decideStart`, for StartWorkflowExecution and SignalWithStartWorkflowExecution.
 *
 * Invariants
 *  1. At most one open run per workflow id (P3): a start beside an open run ends it in the same record, or is refused.
 *  2. A repeated request id answers with the run that it started and changes nothing, also after close (D15).
 */
import { AtollError } from '../../kernel/errors.ts';
import { invariant } from '../../kernel/invariant.ts';
import {
  WorkflowExecutionStatus,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
} from '../../wire/enums.ts';
import type { DecideContext, Decision, LiveRun, StartScope, Step } from './decision.ts';
import { isOpen } from './draft.ts';
import type { CurrentRun } from './execution.ts';
import type { StartInput } from './input.ts';
import { newRun } from './new-run.ts';
import { isKnownSignal, signalRefusal, writeSignal } from './signal.ts';
import { terminateStep } from './terminate.ts';
import { openDraft } from './workflow-task/carry.ts';
import { makeStart, startedReply } from './workflow-task/start.ts';
import { wakeWorker } from './workflow-task/wake.ts';

export function decideStart(scope: StartScope, input: StartInput, ctx: DecideContext): Decision {
  invariant(input.requestId !== '', 'a start has no request id');
  const current = scope.execution?.current;
  const repeated = repeatOf(input, current, ctx);
  if (repeated) return repeated;
  if (!current) return startNew(scope, input, ctx);
  if (current.status !== WorkflowExecutionStatus.Running) {
    return mayReuse(input.reusePolicy, current.status)
      ? startNew(scope, input, ctx)
      : { kind: 'refuse', error: alreadyStarted(scope.workflowId, current) };
  }
  const open = scope.current;
  invariant(
    open !== undefined && open.state.runId === current.runId,
    `open run ${current.runId} of "${scope.workflowId}" is not loaded`,
  );
  return besideOpen(scope, input, { ctx, current, open });
}

/** The request was answered before: by this run, or by one before it. */
function repeatOf(
  input: StartInput,
  current: CurrentRun | undefined,
  ctx: DecideContext,
): Decision | undefined {
  const entry = ctx.ledger.find(input.requestId);
  const runId =
    entry?.kind === 'start'
      ? entry.runId
      : current?.startRequestId === input.requestId
        ? current.firstRunId
        : undefined;
  if (runId === undefined) return undefined;
  const status = runId === current?.runId ? current.status : WorkflowExecutionStatus.Unspecified;
  // Its lost answer said the same: this request started that run, or found it open (`useExisting`).
  const fresh = current?.startRequestId === input.requestId;
  return { kind: 'answer', reply: { kind: 'started', runId, fresh, status } };
}

function mayReuse(policy: WorkflowIdReusePolicy, status: WorkflowExecutionStatus): boolean {
  switch (policy) {
    case WorkflowIdReusePolicy.RejectDuplicate:
      return false;
    case WorkflowIdReusePolicy.AllowDuplicateFailedOnly:
      return status !== WorkflowExecutionStatus.Completed;
    default:
      return true;
  }
}

type Beside = {
  readonly ctx: DecideContext;
  readonly current: CurrentRun;
  readonly open: LiveRun;
};

/** An open run is there: the conflict policy decides; unspecified, a start fails and signal-with-start signals. */
function besideOpen(scope: StartScope, input: StartInput, beside: Beside): Decision {
  switch (conflictPolicy(input)) {
    case WorkflowIdConflictPolicy.TerminateExisting:
      return replaceOpen(scope, input, beside);
    case WorkflowIdConflictPolicy.UseExisting:
      return useExisting(input, beside);
    default:
      return { kind: 'refuse', error: alreadyStarted(scope.workflowId, beside.current) };
  }
}

function conflictPolicy(input: StartInput): WorkflowIdConflictPolicy {
  if (input.conflictPolicy !== WorkflowIdConflictPolicy.Unspecified) return input.conflictPolicy;
  if (input.reusePolicy === WorkflowIdReusePolicy.TerminateIfRunning)
    return WorkflowIdConflictPolicy.TerminateExisting;
  return input.signal ? WorkflowIdConflictPolicy.UseExisting : WorkflowIdConflictPolicy.Fail;
}

/** The open run answers the start; the request id is remembered as its own, so a repeat after its close finds it. */
function useExisting(input: StartInput, { ctx, open }: Beside): Decision {
  const { runId, status } = open.state;
  const reply = { kind: 'started', runId, fresh: false, status } as const;
  const { signal } = input;
  if (signal && isKnownSignal(signal, ctx)) return { kind: 'answer', reply };
  const full = signal && signalRefusal(open, ctx);
  if (full) return { kind: 'refuse', error: full };
  const draft = openDraft(open, ctx);
  draft.remember({ requestId: input.requestId, kind: 'start' });
  if (signal) writeSignal(draft, signal, input.requestId);
  wakeWorker(draft);
  return { kind: 'commit', steps: [draft.finish()], reply };
}

function replaceOpen(scope: StartScope, input: StartInput, { ctx, open }: Beside): Decision {
  const ended = terminateStep(
    open,
    {
      reason: 'TerminateExisting: another run of this workflow id was started',
      identity: input.identity,
    },
    ctx,
  );
  return started(newRun(scope, input, ctx), input, { ctx, before: [ended] });
}

function startNew(scope: StartScope, input: StartInput, ctx: DecideContext): Decision {
  return started(newRun(scope, input, ctx), input, { ctx, before: [] });
}

function started(
  step: Step,
  input: StartInput,
  around: { readonly ctx: DecideContext; readonly before: readonly Step[] },
): Decision {
  const { state } = step;
  invariant(isOpen(state), `run ${state.runId} closed by its start`);
  const [first, ...rest] = [...around.before, step];
  const steps: readonly [Step, ...Step[]] = [first ?? step, ...rest];
  const { runId, status } = state;
  const reply = { kind: 'started', runId, fresh: true, status } as const;
  if (!input.eagerTask || !state.workflowTask) return { kind: 'commit', steps, reply };
  const start = makeStart(state, input.eagerTask, around.ctx);
  return { kind: 'commit', steps, start, reply: { ...reply, task: startedReply(state, start) } };
}

/** What SDKs read from it: the detail, not the words. */
function alreadyStarted(workflowId: string, current: CurrentRun): AtollError {
  const open = current.status === WorkflowExecutionStatus.Running;
  return new AtollError(
    'already-exists',
    open
      ? `workflow "${workflowId}" is running already (run ${current.runId}): use another id, or a conflict policy`
      : `workflow "${workflowId}" was run before (run ${current.runId}) and its id may not be used again by this policy`,
    {
      detail: {
        type: 'WorkflowExecutionAlreadyStartedFailure',
        value: { startRequestId: current.startRequestId, runId: current.runId },
      },
    },
  );
}
