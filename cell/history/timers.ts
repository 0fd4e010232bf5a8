/**
 * Timers of a run, pure: what a command decides, what a due clock decides, what a change folds into, which clocks
 * must be armed.
 *
 * Place: commands/ asks for StartTimer and CancelTimer, `decide` when a clock is due; `applyTimerChange` folds, here
 * and on a standby; pending work takes `timerWork`.
 *
 * Invariants
 *  1. A timer id is pending at most once in a run.
 *  2. Every TimerStarted is followed by at most one of TimerFired and TimerCanceled.
 *  3. A timer fires at its due time or later, never earlier (D16).
 */
import { invariant } from '../../kernel/invariant.ts';
import { WorkflowExecutionStatus, WorkflowTaskFailedCause } from '../../wire/enums.ts';
import type { CommandOf } from '../../wire/events.ts';
import type { HistoryLimits } from './decision.ts';
import {
  badCommand,
  changes,
  obsolete,
  type BadCommand,
  type Changes,
  type Obsolete,
  type Unbuffer,
} from './draft-change.ts';
import { durationMs } from './durations.ts';
import type { Change } from './patch.ts';
import { withEntry, withoutKey } from './persistent-map.ts';
import type { EpochMs, PendingTimer, RunState } from './state.ts';
import type { Work } from './work.ts';

const KEY_PREFIX = 't:';
const MOST_ID_LENGTH = 1_000;

type Timers = ReadonlyMap<string, PendingTimer>;

/** Decides the command StartTimer. A zero timer is due at once: it fires by its clock like any other. */
export function startTimer(
  state: RunState,
  command: CommandOf<'StartTimer'>,
  at: {
    readonly workflowTaskCompletedEventId: number;
    readonly limits: Pick<HistoryLimits, 'maximumPendingTimers'>;
  },
): Changes | BadCommand {
  const timerId = command.attributes.timerId ?? '';
  const pending = state.timers.get(timerId);
  if (pending)
    return badCommand(
      WorkflowTaskFailedCause.StartTimerDuplicateId,
      `timer "${timerId}" is already pending since event ${pending.startedEventId}`,
    );
  const fault = startFault(state, command, at.limits.maximumPendingTimers);
  if (fault !== undefined)
    return badCommand(WorkflowTaskFailedCause.BadStartTimerAttributes, fault);
  return changes([
    {
      event: {
        kind: 'TimerStarted',
        attributes: {
          timerId,
          startToFireTimeout: command.attributes.startToFireTimeout ?? { seconds: 0, nanos: 0 },
          workflowTaskCompletedEventId: at.workflowTaskCompletedEventId,
        },
        userMetadata: command.userMetadata,
      },
    },
  ]);
}

function startFault(
  state: RunState,
  command: CommandOf<'StartTimer'>,
  maximumPending: number,
): string | undefined {
  const timerId = command.attributes.timerId ?? '';
  const durationGiven = durationMs(command.attributes.startToFireTimeout);
  if (timerId === '') return 'the timer id is empty';
  if (timerId.length > MOST_ID_LENGTH)
    return `the timer id has ${timerId.length} characters; at most ${MOST_ID_LENGTH} are allowed`;
  if (!(durationGiven >= 0)) return `timer "${timerId}" has the duration ${durationGiven} ms`;
  if (state.timers.size >= maximumPending)
    return `${state.timers.size} timers are pending, the most that a run may have: wait for some, or cancel them`;
  return undefined;
}

/**
 * Decides the command CancelTimer. A timer that fired while this task was worked on is still in the buffer: the
 * worker never saw it fire, so its TimerFired leaves and the cancel stands (BEHAVIOURS 8).
 */
export function cancelTimer(
  state: RunState,
  command: CommandOf<'CancelTimer'>,
  at: { readonly workflowTaskCompletedEventId: number; readonly identity: string },
): Changes | Unbuffer | BadCommand {
  const timerId = command.attributes.timerId ?? '';
  const canceled = (startedEventId: number) => ({
    event: {
      kind: 'TimerCanceled' as const,
      attributes: { timerId, startedEventId, ...at },
    },
  });
  const pending = state.timers.get(timerId);
  if (pending) return changes([canceled(pending.startedEventId)]);
  const index = state.buffered.findLastIndex(
    (event) => event.kind === 'TimerFired' && event.attributes.timerId === timerId,
  );
  const fired = state.buffered[index];
  if (fired?.kind === 'TimerFired')
    return { kind: 'unbuffer', index, changes: [canceled(fired.attributes.startedEventId ?? 0)] };
  return badCommand(
    WorkflowTaskFailedCause.BadCancelTimerAttributes,
    timerId === ''
      ? 'the timer id is empty'
      : `timer "${timerId}" is not pending: it was never started, or its end is in the history already`,
  );
}

/** Whether the key of a `timer-due` input is that of a run's timer. */
export function isTimerKey(key: string): boolean {
  return key.startsWith(KEY_PREFIX);
}

/** Decides a due clock. Early (clocks jump, D16) or late for another use of the id: obsolete, and armed again. */
export function timerDue(state: RunState, key: string, now: EpochMs): Changes | Obsolete {
  const [, startedEventId = '', timerId = ''] = /^t:(\d+):(.*)$/su.exec(key) ?? [];
  const pending = state.timers.get(timerId);
  if (pending?.startedEventId !== Number(startedEventId) || now < pending.dueAt) return obsolete;
  return changes(
    [
      {
        event: {
          kind: 'TimerFired',
          attributes: { timerId, startedEventId: pending.startedEventId },
        },
      },
    ],
    { kind: 'done' },
  );
}

/** Folds one change. A buffered TimerFired ends its timer at once; at the flush the event finds it gone. */
export function applyTimerChange(timers: Timers, change: Change): Timers {
  switch (change.kind) {
    case 'TimerStarted': {
      const timerId = change.attributes.timerId ?? '';
      invariant(!timers.has(timerId), `timer "${timerId}" started twice`);
      const dueAt = change.eventTime + durationMs(change.attributes.startToFireTimeout);
      return withEntry(timers, timerId, { timerId, startedEventId: change.eventId, dueAt });
    }
    case 'TimerFired':
    case 'TimerCanceled':
      return without(timers, change.attributes);
    case 'event-buffered':
      return change.event.kind === 'TimerFired' ? without(timers, change.event.attributes) : timers;
    default:
      return timers;
  }
}

/** The clocks to arm for this state: all of it can be made again from the state alone (D5). */
export function timerWork(state: RunState): readonly Work[] {
  if (state.status !== WorkflowExecutionStatus.Running) return [];
  return [...state.timers.values()].map(({ timerId, startedEventId, dueAt }) => ({
    kind: 'timer',
    key: `${KEY_PREFIX}${startedEventId}:${timerId}`,
    dueAt,
  }));
}

/** The id may be in use again since: only the timer of that start leaves. */
function without(
  timers: Timers,
  ended: { readonly timerId?: string | undefined; readonly startedEventId?: number | undefined },
): Timers {
  const timerId = ended.timerId ?? '';
  if (timers.get(timerId)?.startedEventId !== ended.startedEventId) return timers;
  return withoutKey(timers, timerId);
}
