/**
 * What the sub-machines of a run (activities, timers) answer to the draft that asked them: changes without event
 * ids, times or versions, which the draft gives, and tagged outcomes.
 *
 * Place: a sub-machine reads the draft's state and returns one of these; the draft emits the changes, so that only
 * one place in the core counts event ids and knows whether an event must be buffered.
 *
 * Agreement between sub-machines and draft
 *  1. `changes` are emitted in order. Empty changes with a reply mean: answer, nothing to append.
 *  2. Kinds in BUFFERED_KINDS come from outside. While a workflow-task start is open, and while a completed task's
 *     commands are decided, the draft buffers them (patch `event-buffered`) and gives ids at the flush, so that a
 *     worker never finds events between those that its own commands made (BEHAVIOURS 2).
 *  3. A closing event of an activity removes it from `activities` at once, buffered or not: the folds treat
 *     `event-buffered` of a closing event (activities) and of TimerFired (timers) like the event itself. So a second
 *     close finds nothing, and the flushed event finds nothing either and changes nothing.
 *  4. `startedEventId: 0` in a closing event of an activity means: the ActivityTaskStarted emitted directly before it,
 *     if there is one of the same `scheduledEventId`; else the activity never started and 0 stays. The draft fills it
 *     when it gives ids (`linkStarted`). Both go to the buffer together and stay neighbours in it.
 *  5. An input that emitted any event (closing activity, fired timer) needs a workflow task; patches alone do not.
 *     A command that emitted one of BUFFERED_KINDS (an activity canceled before it started) needs a new one too.
 */
import type { AtollError } from '../../kernel/errors.ts';
import type { WorkflowTaskFailedCause } from '../../wire/enums.ts';
import type { EventKind } from '../../wire/event-kinds.ts';
import type { EventAttributes } from '../../wire/events.ts';
import type { UserMetadata } from '../../wire/plain.ts';
import type { Reply } from './decision.ts';
import type { Patch } from './patch.ts';

/** An event less what only the draft knows: id, time, version. */
export type DraftEventOf<K extends EventKind> = {
  readonly kind: K;
  readonly attributes: EventAttributes<K>;
  readonly userMetadata?: UserMetadata | undefined;
};
export type DraftEvent = { [K in EventKind]: DraftEventOf<K> }[EventKind];

export type DraftChange = { readonly event: DraftEvent } | { readonly patch: Patch };

export type Changes = {
  readonly kind: 'changes';
  readonly changes: readonly DraftChange[];
  readonly reply?: Reply | undefined;
};

/** Too late or twice: nothing changes. The state's pending work still holds; a clock that it names is armed again. */
export type Obsolete = { readonly kind: 'obsolete' };

export type Refuse = { readonly kind: 'refuse'; readonly error: AtollError };

/** The worker's command cannot be: the workflow task fails with this cause (BEHAVIOURS 6). */
export type BadCommand = {
  readonly kind: 'bad-command';
  readonly cause: WorkflowTaskFailedCause;
  readonly message: string;
};

/** The buffered event at this index of `state.buffered` leaves first (patch `buffer-kept`), then come the changes. */
export type Unbuffer = {
  readonly kind: 'unbuffer';
  readonly index: number;
  readonly changes: readonly DraftChange[];
};

/** What became of a command. */
export type CommandOutcome = Changes | Unbuffer | BadCommand;

/** What became of an input from outside. */
export type InputOutcome = Changes | Obsolete | Refuse;

/** Events of these sub-machines that come from outside and wait while a workflow task is started (BEHAVIOURS 2). */
export const BUFFERED_KINDS: ReadonlySet<EventKind> = new Set<EventKind>([
  'ActivityTaskStarted',
  'ActivityTaskCompleted',
  'ActivityTaskFailed',
  'ActivityTaskTimedOut',
  'ActivityTaskCanceled',
  'TimerFired',
]);

export function changes(list: readonly DraftChange[], reply?: Reply): Changes {
  return reply === undefined
    ? { kind: 'changes', changes: list }
    : { kind: 'changes', changes: list, reply };
}

export const obsolete: Obsolete = { kind: 'obsolete' };

export function badCommand(cause: WorkflowTaskFailedCause, message: string): BadCommand {
  return { kind: 'bad-command', cause, message };
}
