/**
 * A worker completed a workflow task: its commands become events, all or none of them, in one transition.
 *
 * Place: decides `complete-workflow-task`. Order of the transition: what history lacks of the task's own events,
 * WorkflowTaskCompleted, one event a command, the buffered events, the next scheduled task (BEHAVIOURS 2).
 *
 * Invariants
 *  1. A command that cannot be fails the task with its cause, and nothing of the task applies (BEHAVIOURS 6).
 *  2. A run does not close over events that its worker has not seen (BEHAVIOURS 3).
 *  3. A chain of heartbeats ends: at its limit the task times out (BEHAVIOURS 7).
 */
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import { decideCommands } from '../commands/commands.ts';
import type { ActivityStartedReply, DecideContext, Decision, LiveRun, Step } from '../decision.ts';
import { Draft, isOpen } from '../draft.ts';
import type { BadCommand } from '../draft-change.ts';
import type { TaskTaker, RunInput } from '../input.ts';
import type { TaskStart } from '../state.ts';
import { makeReal } from './carry.ts';
import { acceptClaim, taskNotFound } from './claim.ts';
import { endWithFailure, endWithTimeout, openStarted } from './fail.ts';
import { scheduleTask } from './schedule.ts';
import { makeStart, startedReply } from './start.ts';

export type CompleteInput = Extract<RunInput, { kind: 'complete-workflow-task' }>;

/** Heartbeats of local activities may keep one task alive so long. */
const LONGEST_HEARTBEAT_CHAIN_MS = 30 * 60_000;

export function completeTask(run: LiveRun, input: CompleteInput, ctx: DecideContext): Decision {
  const start = acceptClaim(run, input.claim, input.identity);
  const task = run.state.workflowTask;
  if (!start || !task) return { kind: 'refuse', error: taskNotFound(run.state) };

  const draft = Draft.of(run, ctx);
  makeReal(draft, start);
  const completedEventId = writeCompleted(draft, start, input);
  draft.beginCommands();
  const outcome = decideCommands(draft, { completedEventId, input });
  if (outcome.kind === 'bad-command') return reject(run, start, { input, ctx, fault: outcome });
  const next = outcome.next ?? [];
  if (!isOpen(draft.state)) return closed([draft.finish(), ...next]);

  draft.flush();
  setSticky(draft, input);
  const seesMore = draft.external;
  const { started } = outcome;
  if (!seesMore && !input.forceNewTask) return completed(draft, { started });
  const { firstScheduledAt } = task;
  if (seesMore) scheduleTask(draft);
  else if (draft.now - firstScheduledAt > LONGEST_HEARTBEAT_CHAIN_MS)
    return endHeartbeats(run, start, ctx);
  else {
    scheduleTask(draft);
    draft.patch({ kind: 'workflow-task-heartbeat', firstScheduledAt });
  }
  return completed(draft, { started, nextTask: input.nextTask });
}

function writeCompleted(draft: Draft, start: TaskStart, input: CompleteInput): number {
  return draft.emit('WorkflowTaskCompleted', {
    scheduledEventId: start.scheduledEventId,
    startedEventId: start.startedEventId,
    identity: input.identity,
    binaryChecksum: input.binaryChecksum,
    sdkMetadata: input.sdkMetadata,
    meteringMetadata: input.meteringMetadata,
    workerVersion: input.workerVersion,
  });
}

/** The worker says where it wants its next tasks; a patch only where that changed. */
function setSticky(draft: Draft, input: CompleteInput): void {
  const before = draft.state.sticky;
  const { sticky } = input;
  if (before?.queue === sticky?.queue && before?.scheduleToStartMs === sticky?.scheduleToStartMs)
    return;
  draft.patch({ kind: 'sticky', sticky });
}

/** What goes back to the worker with the answer (D7). */
type Inline = {
  readonly started: readonly ActivityStartedReply[] | undefined;
  /** Start the task that was scheduled for the caller, in memory only. */
  readonly nextTask?: TaskTaker | undefined;
};

function completed(draft: Draft, { started, nextTask }: Inline): Decision {
  const step = draft.finish();
  const newTask = step.state.workflowTask !== undefined;
  const reply = {
    kind: 'workflow-task-completed',
    closed: false,
    newTask,
    ...(started && started.length > 0 ? { activities: started } : {}),
  } as const;
  if (!newTask || !nextTask) return { kind: 'commit', steps: [step], reply };
  const start = makeStart(step.state, nextTask, { ...draft.ctx, now: draft.now });
  const task = startedReply(step.state, start);
  return { kind: 'commit', steps: [step], start, reply: { ...reply, task } };
}

function closed(steps: readonly [Step, ...Step[]]): Decision {
  const reply = { kind: 'workflow-task-completed', closed: true, newTask: false } as const;
  return { kind: 'commit', steps, reply };
}

/** The draft with the commands is dropped; another one records the failure. */
function reject(
  run: LiveRun,
  start: TaskStart,
  why: {
    readonly input: CompleteInput;
    readonly ctx: DecideContext;
    readonly fault: Omit<BadCommand, 'kind'>;
  },
): Decision {
  const { input, ctx } = why;
  const { cause, message } = why.fault;
  const draft = openStarted(run, start, ctx);
  endWithFailure(draft, {
    cause,
    failure: { message, source: 'Server', serverFailureInfo: {} },
    identity: input.identity,
    binaryChecksum: input.binaryChecksum,
  });
  const reply = { kind: 'workflow-task-rejected', cause, message } as const;
  return { kind: 'commit', steps: [draft.finish()], reply };
}

function endHeartbeats(run: LiveRun, start: TaskStart, ctx: DecideContext): Decision {
  const draft = openStarted(run, start, ctx);
  endWithTimeout(draft);
  const message = `the workflow task was kept alive by heartbeats for more than ${LONGEST_HEARTBEAT_CHAIN_MS / 60_000} minutes`;
  const cause = WorkflowTaskFailedCause.Unspecified;
  const reply = { kind: 'workflow-task-rejected', cause, message } as const;
  return { kind: 'commit', steps: [draft.finish()], reply };
}
