/**
 * Clocks of workflow tasks: start-to-close, sticky schedule-to-start, the back-off of the first task; and the worker
 * of a sticky queue that is gone.
 *
 * Invariants
 *  1. A clock's key names the attempt (and start) that it was armed for; for any other it is obsolete.
 *  2. A clock that comes early is obsolete, and `pendingWork` still names it (D16).
 */
import { TimeoutType } from '../../../wire/enums.ts';
import type { DecideContext, Decision, LiveRun } from '../decision.ts';
import { isOpen } from '../draft.ts';
import type { EpochMs, RunState, TaskStart } from '../state.ts';
import type { Work } from '../work.ts';
import { openDraft } from './carry.ts';
import { endWithTimeout, openStarted } from './fail.ts';
import { ensureTask, scheduleTask } from './schedule.ts';
import { knownStart } from './start.ts';

const OBSOLETE: Decision = { kind: 'answer', reply: { kind: 'obsolete' } };
const FIRST_TASK_KEY = 'b';

type Clock = { readonly key: string; readonly dueAt: EpochMs };

/** The first task's back-off (BEHAVIOURS 11). */
export function firstTaskClock(state: RunState): Clock | undefined {
  const dueAt = state.firstTaskAt;
  return dueAt === undefined ? undefined : { key: FIRST_TASK_KEY, dueAt };
}

/** Start-to-close of a start in force, durable or not. */
export function startToCloseClock(state: RunState, start: TaskStart): Clock {
  return {
    key: `ws:${start.scheduledEventId}:${start.attempt}:${start.startedAt}`,
    dueAt: start.startedAt + state.start.taskTimeoutMs,
  };
}

/** Schedule-to-start of a task that waits for its sticky worker (BEHAVIOURS 5). */
export function stickyClock(state: RunState): Clock | undefined {
  const task = state.workflowTask;
  if (!task?.stickyQueue || !state.sticky || task.started) return undefined;
  return {
    key: `wy:${task.scheduledEventId}`,
    dueAt: task.scheduledAt + state.sticky.scheduleToStartMs,
  };
}

/** The clocks as pending work. */
export function workflowTaskClocks(state: RunState, start: TaskStart | undefined): readonly Work[] {
  const known = state.workflowTask?.started ?? start;
  const clocks = [
    firstTaskClock(state),
    known ? startToCloseClock(state, known) : stickyClock(state),
  ];
  return clocks.flatMap((clock) => (clock ? [{ kind: 'timer' as const, ...clock }] : []));
}

/** Whether the key of a `timer-due` input is one of these clocks. */
export function isWorkflowTaskKey(key: string): boolean {
  return key === FIRST_TASK_KEY || key.startsWith('ws:') || key.startsWith('wy:');
}

/** Decides a due clock of a workflow task. */
export function workflowTaskDue(run: LiveRun, key: string, ctx: DecideContext): Decision {
  const { state } = run;
  if (key === FIRST_TASK_KEY) return firstTaskDue(run, ctx);
  const start = knownStart(run);
  if (start && is(startToCloseClock(state, start), key, ctx))
    return startToCloseDue(run, start, ctx);
  if (!start && is(stickyClock(state), key, ctx)) return stickyDue(run, ctx);
  return OBSOLETE;
}

/** Decides `sticky-gone`: the pending task goes to the normal queue, and leaves no event. */
export function stickyGone(run: LiveRun, ctx: DecideContext): Decision {
  const { workflowTask: task, sticky } = run.state;
  // Without a task there is only the memory of that worker to drop.
  const forgets = task === undefined && sticky !== undefined;
  if (!isOpen(run.state) || !(forgets || task?.stickyQueue) || knownStart(run)) return OBSOLETE;
  const draft = openDraft(run, ctx);
  draft.patch(forgets ? { kind: 'sticky' } : { kind: 'workflow-task-unstuck' });
  return { kind: 'commit', steps: [draft.finish()], reply: { kind: 'done' } };
}

function is(clock: Clock | undefined, key: string, ctx: DecideContext): boolean {
  return clock?.key === key && ctx.now >= clock.dueAt;
}

function firstTaskDue(run: LiveRun, ctx: DecideContext): Decision {
  const { firstTaskAt } = run.state;
  if (firstTaskAt === undefined || ctx.now < firstTaskAt) return OBSOLETE;
  const draft = openDraft(run, ctx);
  scheduleTask(draft);
  return { kind: 'commit', steps: [draft.finish()], reply: { kind: 'done' } };
}

function startToCloseDue(run: LiveRun, start: TaskStart, ctx: DecideContext): Decision {
  const draft = openStarted(run, start, ctx);
  endWithTimeout(draft);
  return { kind: 'commit', steps: [draft.finish()], reply: { kind: 'done' } };
}

/** Nobody took it from the sticky queue: that is written, and a new task goes to the normal queue. */
function stickyDue(run: LiveRun, ctx: DecideContext): Decision {
  const draft = openDraft(run, ctx);
  draft.emit('WorkflowTaskTimedOut', {
    scheduledEventId: run.state.workflowTask?.scheduledEventId ?? 0,
    startedEventId: 0,
    timeoutType: TimeoutType.ScheduleToStart,
  });
  ensureTask(draft);
  return { kind: 'commit', steps: [draft.finish()], reply: { kind: 'done' } };
}
