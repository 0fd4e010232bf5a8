/**
 * Ends of a run that its worker has no say in: termination and the timeout of the run.
 *
 * Invariants
 *  1. An open run can always be terminated, however full its history is (BEHAVIOURS 24).
 *  2. A workflow task in a worker's hand ends first (FORCE_CLOSE_COMMAND), and what was buffered is written.
 */
import { RetryState, TimeoutType, WorkflowTaskFailedCause } from '../../wire/enums.ts';
import type { Failure, Payloads } from '../../wire/plain.ts';
import type { DecideContext, Decision, LiveRun, Step } from './decision.ts';
import { isOpen, type Draft } from './draft.ts';
import type { RunInput } from './input.ts';
import { OBSOLETE, refuseClosed } from './refusals.ts';
import { retryRun } from './run-retry.ts';
import type { EpochMs, RunState } from './state.ts';
import { openDraft } from './workflow-task/carry.ts';
import { writeFailure } from './workflow-task/fail.ts';

const RUN_TIMEOUT_KEY = 'r';

/** Decides `terminate`. */
export function terminateRun(
  run: LiveRun,
  input: Extract<RunInput, { kind: 'terminate' }>,
  ctx: DecideContext,
): Decision {
  if (!isOpen(run.state)) return refuseClosed(run.state);
  return { kind: 'commit', steps: [terminateStep(run, input, ctx)], reply: { kind: 'done' } };
}

/** The step that terminates an open run. */
export function terminateStep(
  run: LiveRun,
  why: {
    readonly reason: string;
    readonly identity: string;
    readonly details?: Payloads | undefined;
  },
  ctx: DecideContext,
): Step {
  const draft = openDraft(run, ctx);
  endTask(draft);
  const { reason, identity, details } = why;
  draft.emit('WorkflowExecutionTerminated', { reason, identity, details });
  return draft.finish();
}

/** When the run times out: its own timeout from its execution time on, the chain's end before that. */
export function runTimeoutClock(
  state: RunState,
): { readonly key: string; readonly dueAt: EpochMs } | undefined {
  const { executionAt, runTimeoutMs, executionExpiresAt } = state.start;
  const ends = [
    ...(runTimeoutMs > 0 ? [executionAt + runTimeoutMs] : []),
    ...(executionExpiresAt > 0 ? [executionExpiresAt] : []),
  ];
  return ends.length > 0 ? { key: RUN_TIMEOUT_KEY, dueAt: Math.min(...ends) } : undefined;
}

export function isRunTimeoutKey(key: string): boolean {
  return key === RUN_TIMEOUT_KEY;
}

/** Decides the due clock of the run's timeout: closed as timed out, or retried by its policy. */
export function runTimeoutDue(run: LiveRun, ctx: DecideContext): Decision {
  const clock = runTimeoutClock(run.state);
  if (!isOpen(run.state) || !clock || ctx.now < clock.dueAt) return OBSOLETE;
  const draft = openDraft(run, ctx);
  endTask(draft);
  const { executionExpiresAt } = run.state.start;
  const chainEnded = executionExpiresAt > 0 && ctx.now >= executionExpiresAt;
  const retry = chainEnded
    ? { retryState: RetryState.Timeout, runId: '', step: undefined }
    : retryRun(draft, TIMED_OUT);
  draft.emit('WorkflowExecutionTimedOut', {
    retryState: retry.retryState,
    newExecutionRunId: retry.runId,
  });
  const steps: readonly [Step, ...Step[]] = [draft.finish(), ...(retry.step ? [retry.step] : [])];
  return { kind: 'commit', steps, reply: { kind: 'done' } };
}

const TIMED_OUT: Failure = {
  message: 'workflow timeout',
  source: 'Server',
  timeoutFailureInfo: { timeoutType: TimeoutType.StartToClose },
};

/** The started task ends and what waited for it is written; the run closes next. */
function endTask(draft: Draft): void {
  if (draft.state.workflowTask?.started)
    writeFailure(draft, { cause: WorkflowTaskFailedCause.ForceCloseCommand, identity: '' });
  draft.flush();
}
