/**
 * The commands of a completed workflow task, in order, each by its own file.
 *
 * Place: called by workflow-task/complete.ts on a draft that has written WorkflowTaskCompleted.
 *
 * Invariants
 *  1. The first command that cannot be ends the pass; the caller drops the whole draft (BEHAVIOURS 6).
 *  2. A command that closes the run is the last one.
 */
import { WorkflowTaskFailedCause } from '../../../wire/enums.ts';
import type { Command } from '../../../wire/events.ts';
import { requestCancelActivity } from '../activities/request-cancel.ts';
import { scheduleActivity } from '../activities/schedule.ts';
import { startActivity } from '../activities/start.ts';
import type { ActivityStartedReply, Step } from '../decision.ts';
import { isOpen, type Draft } from '../draft.ts';
import type { TaskTaker } from '../input.ts';
import { badCommand, type BadCommand, type CommandOutcome } from '../draft-change.ts';
import { cancelTimer, startTimer } from '../timers.ts';
import type { CommandContext, CommandsOutcome } from './command.ts';
import { cancelRun } from './cancel-workflow-execution.ts';
import { completeRun } from './complete-workflow-execution.ts';
import { failRun } from './fail-workflow-execution.ts';
import { modifyProperties } from './modify-workflow-properties.ts';
import { recordMarker } from './record-marker.ts';
import { notYet } from './unsupported.ts';
import { upsertSearchAttributes } from './upsert-search-attributes.ts';

export function decideCommands(draft: Draft, context: CommandContext): CommandsOutcome {
  const full = historyFull(draft, context);
  if (full) return full;
  let next: readonly Step[] = [];
  const started: ActivityStartedReply[] = [];
  for (const [index, command] of context.input.commands.entries()) {
    if (!isOpen(draft.state)) return afterClose(command);
    const outcome = decideCommand(draft, command, { context, index });
    if (outcome.kind === 'bad-command') return outcome;
    next = outcome.next ?? next;
    started.push(...(outcome.started ?? []));
  }
  return { kind: 'ok', next, started };
}

function decideCommand(
  draft: Draft,
  command: Command,
  { context, index }: { readonly context: CommandContext; readonly index: number },
): CommandsOutcome {
  const { limits } = draft.ctx;
  const { identity } = context.input;
  const at = { workflowTaskCompletedEventId: context.completedEventId, identity, limits };
  switch (command.kind) {
    case 'ScheduleActivityTask':
      return scheduleOne(
        draft,
        scheduleActivity(draft.state, command, at),
        context.input.activityPolls?.get(index),
      );
    case 'RequestCancelActivityTask':
      return add(draft, requestCancelActivity(draft.state, command, at));
    case 'StartTimer':
      return add(draft, startTimer(draft.state, command, at));
    case 'CancelTimer': {
      const { workflowTaskCompletedEventId } = at;
      return add(
        draft,
        cancelTimer(draft.state, command, { workflowTaskCompletedEventId, identity }),
      );
    }
    case 'RecordMarker':
      return recordMarker(draft, command, context);
    case 'ModifyWorkflowProperties':
      return modifyProperties(draft, command, context);
    case 'UpsertWorkflowSearchAttributes':
      return upsertSearchAttributes(draft, command, context);
    case 'CompleteWorkflowExecution':
      return unseen(draft, command) ?? completeRun(draft, command, context);
    case 'FailWorkflowExecution':
      return unseen(draft, command) ?? failRun(draft, command, context);
    case 'CancelWorkflowExecution':
      return unseen(draft, command) ?? cancelRun(draft, command, context);
    default:
      return notYet(command);
  }
}

/** Adds what activities and timers answered to their commands. */
function add(draft: Draft, outcome: CommandOutcome): CommandsOutcome {
  if (outcome.kind === 'bad-command') return outcome;
  if (outcome.kind === 'unbuffer') draft.unbuffer(outcome.index);
  draft.add(outcome.changes);
  return { kind: 'ok' };
}

/** An activity that a poll waits for is started in the same transition (D7): its start needs no commit of its own. */
function scheduleOne(
  draft: Draft,
  outcome: CommandOutcome,
  poll: TaskTaker | undefined,
): CommandsOutcome {
  const scheduledEventId = draft.state.nextEventId;
  const added = add(draft, outcome);
  if (added.kind === 'bad-command' || !poll) return added;
  const started = startActivity(
    draft.state,
    { scheduledEventId, attempt: 1, ...poll },
    { now: draft.now, epoch: draft.ctx.epoch },
  );
  if (started.kind === 'obsolete' || started.reply?.kind !== 'activity-started') return added;
  draft.add(started.changes);
  return { kind: 'ok', started: [started.reply] };
}

/** A run does not close over events that its worker has not seen (BEHAVIOURS 3). */
function unseen(draft: Draft, command: Command): BadCommand | undefined {
  const waiting = draft.state.buffered.length;
  if (waiting === 0) return undefined;
  return badCommand(
    WorkflowTaskFailedCause.UnhandledCommand,
    `UnhandledCommand: ${waiting} new events came before ${command.kind}; the worker gets them in the next task`,
  );
}

function afterClose(command: Command): BadCommand {
  return badCommand(
    WorkflowTaskFailedCause.UnhandledCommand,
    `${command.kind} follows a command that closes the run: the closing command must be the last`,
  );
}

/** At its limit a history pauses rather than grows: only commands that close the run go on (BEHAVIOURS 24). */
function historyFull(draft: Draft, context: CommandContext): BadCommand | undefined {
  const { state, ctx } = draft;
  const events = state.nextEventId - 1;
  const { maximumEvents, maximumHistoryBytes } = ctx.limits;
  if (events <= maximumEvents && state.historyBytes <= maximumHistoryBytes) return undefined;
  if (context.input.commands.every((command) => CLOSING.has(command.kind))) return undefined;
  return badCommand(
    WorkflowTaskFailedCause.UnhandledCommand,
    `the history has ${events} events and ${state.historyBytes} bytes, at most ${maximumEvents} and ` +
      `${maximumHistoryBytes} are allowed: complete, fail or terminate the run`,
  );
}

const CLOSING: ReadonlySet<Command['kind']> = new Set<Command['kind']>([
  'CompleteWorkflowExecution',
  'FailWorkflowExecution',
  'CancelWorkflowExecution',
]);
