/**
 * One input of one run: who decides it. Also the bridge to the sub-machines of activities and timers, whose answers
 * become one transition.
 */
import { activityTimerDue, isActivityClockKey } from './activities/clocks.ts';
import { grantHeartbeats, heartbeatActivity } from './activities/heartbeat.ts';
import { cancelActivity, completeActivity, failActivity } from './activities/respond.ts';
import { startActivity } from './activities/start.ts';
import { requestCancel } from './cancel.ts';
import type { DecideContext, Decision, LiveRun } from './decision.ts';
import { isOpen } from './draft.ts';
import type { InputOutcome } from './draft-change.ts';
import type { RunInput } from './input.ts';
import { DONE, OBSOLETE } from './refusals.ts';
import { signalRun } from './signal.ts';
import type { RunState } from './state.ts';
import { isRunTimeoutKey, runTimeoutDue, terminateRun } from './terminate.ts';
import { isTimerKey, timerDue } from './timers.ts';
import { openDraft } from './workflow-task/carry.ts';
import { completeTask } from './workflow-task/complete.ts';
import { isWorkflowTaskKey, stickyGone, workflowTaskDue } from './workflow-task/due.ts';
import { failOver } from './workflow-task/fail-over.ts';
import { failTask } from './workflow-task/fail.ts';
import { startTask } from './workflow-task/start.ts';
import { wakeWorker } from './workflow-task/wake.ts';

/** Decides one input; the run and the context are only read. */
export function decide(run: LiveRun, input: RunInput, ctx: DecideContext): Decision {
  switch (input.kind) {
    case 'signal':
      return signalRun(run, input, ctx);
    case 'request-cancel':
      return requestCancel(run, input, ctx);
    case 'terminate':
      return terminateRun(run, input, ctx);
    case 'start-workflow-task':
      return startTask(run, input, ctx);
    case 'complete-workflow-task':
      return completeTask(run, input, ctx);
    case 'fail-workflow-task':
      return failTask(run, input, ctx);
    case 'sticky-gone':
      return stickyGone(run, ctx);
    case 'fail-over':
      return failOver(run, ctx);
    case 'timer-due':
      return isOpen(run.state) ? clockDue(run, input.key, ctx) : OBSOLETE;
    default: {
      const at = { now: Math.max(ctx.now, run.state.lastAt), epoch: ctx.epoch };
      return commitOutcome(run, activityOutcome(run.state, input, at), ctx);
    }
  }
}

type ActivityInput = Extract<RunInput, { kind: `${string}-activity` | 'grant-heartbeats' }>;

function activityOutcome(
  state: RunState,
  input: ActivityInput,
  at: { readonly now: number; readonly epoch: number },
): InputOutcome {
  switch (input.kind) {
    case 'start-activity':
      return startActivity(state, input, at);
    case 'complete-activity':
      return completeActivity(state, input, at);
    case 'fail-activity':
      return failActivity(state, input, at);
    case 'cancel-activity':
      return cancelActivity(state, input);
    case 'heartbeat-activity':
      return heartbeatActivity(state, input, at);
    case 'grant-heartbeats':
      return grantHeartbeats(state, at);
  }
}

function clockDue(run: LiveRun, key: string, ctx: DecideContext): Decision {
  const now = Math.max(ctx.now, run.state.lastAt);
  if (isWorkflowTaskKey(key)) return workflowTaskDue(run, key, { ...ctx, now });
  if (isRunTimeoutKey(key)) return runTimeoutDue(run, { ...ctx, now });
  if (isTimerKey(key)) return commitOutcome(run, timerDue(run.state, key, now), ctx);
  if (isActivityClockKey(key))
    return commitOutcome(run, activityTimerDue(run.state, key, now), ctx);
  return OBSOLETE;
}

/** What a sub-machine answered, as a decision: its changes make one transition, and wake the worker if they must. */
function commitOutcome(run: LiveRun, outcome: InputOutcome, ctx: DecideContext): Decision {
  if (outcome.kind === 'obsolete') return OBSOLETE;
  if (outcome.kind === 'refuse') return outcome;
  const { changes, reply } = outcome;
  if (changes.length === 0) return reply ? { kind: 'answer', reply } : DONE;
  const draft = openDraft(run, ctx);
  draft.add(changes);
  wakeWorker(draft);
  return { kind: 'commit', steps: [draft.finish()], reply: reply ?? { kind: 'done' } };
}
