/**
 * A draft: one transition of one run while it is being decided. What is emitted gets its id, time and version and
 * is folded at once, so every later question sees the state as it will be.
 *
 * Place: every decision opens a draft on a live run, lets the sub-machines add to it, and finishes it into a step.
 *
 * Invariants
 *  1. The state of the finished step equals applyTransition of its transition: both use the same fold.
 *  2. A draft that is not finished leaves no trace: the live run is untouched (commands are all or nothing).
 *  3. Event times never go back within a run (D16).
 *  4. Events from outside never get between a durable start and the end of its workflow task (BEHAVIOURS 2).
 */
import { invariant } from '../../kernel/invariant.ts';
import { WorkflowExecutionStatus } from '../../wire/enums.ts';
import type { EventKind } from '../../wire/event-kinds.ts';
import type { EventAttributes, EventOf, HistoryEvent } from '../../wire/events.ts';
import type { Link, UserMetadata } from '../../wire/plain.ts';
import { newFold, openFold, sealFold, type Fold, type RunIds } from './apply/fold-state.ts';
import { applyChange } from './apply/fold.ts';
import type { DecideContext, LiveRun, Step } from './decision.ts';
import { BUFFERED_KINDS, type DraftChange, type DraftEvent } from './draft-change.ts';
import type { CurrentRun, LedgerEntry } from './execution.ts';
import { originId } from './origin.ts';
import type { Change, Patch } from './patch.ts';
import type { BufferedEvent, EpochMs, RunState, TaskStart } from './state.ts';

/** What a draft's end is compared with. */
type Before = { readonly status: WorkflowExecutionStatus; readonly epoch: number };

/** What an event may carry beside its attributes. */
export type EventExtras = {
  readonly userMetadata?: UserMetadata | undefined;
  readonly links?: readonly Link[] | undefined;
  /** The event's time where it is not that of the transition: a start that is written later than it was. */
  readonly at?: EpochMs | undefined;
};

export class Draft {
  readonly ctx: DecideContext;
  readonly #before: Before;
  #now: EpochMs;
  readonly #fold: Fold;
  readonly #changes: Change[] = [];
  readonly #ledger: LedgerEntry[] = [];
  #last: HistoryEvent | undefined;
  #inCommands = false;
  #external = false;

  private constructor(fold: Fold, ctx: DecideContext, before: Before) {
    this.#fold = fold;
    this.ctx = ctx;
    this.#before = before;
    this.#now = Math.max(ctx.now, fold.lastAt);
  }

  /** A draft that goes on from a run's committed or newest state. */
  static of(run: Pick<LiveRun, 'state'>, ctx: DecideContext): Draft {
    invariant(isOpen(run.state), `run ${run.state.runId} is closed and takes no transition`);
    return new Draft(openFold(run.state, ctx.epoch), ctx, run.state);
  }

  /** A draft of a run that does not exist yet: its first event is written. */
  static begin(
    ids: RunIds,
    attributes: EventAttributes<'WorkflowExecutionStarted'>,
    ctx: DecideContext,
    extras: EventExtras = {},
  ): Draft {
    const started: EventOf<'WorkflowExecutionStarted'> = {
      kind: 'WorkflowExecutionStarted',
      eventId: 1,
      eventTime: ctx.now,
      version: ctx.epoch,
      attributes,
      ...kept(extras),
    };
    const draft = new Draft(newFold(ids, started), ctx, {
      status: WorkflowExecutionStatus.Unspecified,
      epoch: ctx.epoch,
    });
    draft.#fold1(started);
    return draft;
  }

  /** The state with everything so far. Valid until the next emit or patch. */
  get state(): RunState {
    return this.#fold;
  }

  /** The time of the transition (D16). */
  get now(): EpochMs {
    return this.#now;
  }

  /** Whether an event from outside was written, or waits behind commands: the worker must see it. */
  get external(): boolean {
    return this.#external;
  }

  /** Writes an event; answers its id. */
  emit<Kind extends EventKind>(
    kind: Kind,
    attributes: EventAttributes<Kind>,
    extras: EventExtras = {},
  ): number {
    return this.#write({
      kind,
      eventId: this.#fold.nextEventId,
      eventTime: extras.at ?? this.#now,
      version: this.ctx.epoch,
      attributes,
      ...kept(extras),
    } as HistoryEvent);
  }

  patch(patch: Patch): void {
    this.#fold1(patch);
  }

  /** An event that no command made: written, or buffered while a workflow task is in a worker's hand. */
  outside(event: DraftEvent, links?: readonly Link[]): void {
    this.#external = true;
    const { kind, attributes, userMetadata } = event;
    if (!this.#inCommands && this.#fold.workflowTask?.started === undefined) {
      // The union's members correlate kind and attributes; a spread of them does not, so the type is restated.
      this.emit(kind, attributes as EventAttributes<typeof kind>, { userMetadata, links });
      return;
    }
    const waiting = {
      kind,
      attributes,
      eventTime: this.#now,
      version: this.ctx.epoch,
      ...kept({ userMetadata, links }),
    } as BufferedEvent;
    this.#fold1({ kind: 'event-buffered', event: waiting });
  }

  /** Adds what a sub-machine answered. */
  add(changes: readonly DraftChange[]): void {
    for (const change of changes) {
      if ('patch' in change) this.patch(change.patch);
      else if (BUFFERED_KINDS.has(change.event.kind)) this.outside(change.event);
      else {
        const { kind, attributes, userMetadata } = change.event;
        this.emit(kind, attributes as EventAttributes<typeof kind>, { userMetadata });
      }
    }
  }

  /** From here to `flush` commands are decided: events from outside wait until they are through. */
  beginCommands(): void {
    this.#inCommands = true;
  }

  /** The buffered events get their ids and are written (BEHAVIOURS 2). Answers whether there were any. */
  flush(): boolean {
    this.#inCommands = false;
    const waiting = this.#fold.buffered;
    if (waiting.length === 0) return false;
    this.#external = true;
    this.#fold1({ kind: 'buffer-kept', indexes: [] });
    for (const event of waiting) {
      // The time of arrival would be before the end of the workflow task that made it wait (invariant 3).
      this.#write({
        ...event,
        eventId: this.#fold.nextEventId,
        eventTime: this.#now,
      } as HistoryEvent);
    }
    return true;
  }

  /** A buffered event leaves (BEHAVIOURS 8). */
  unbuffer(index: number): void {
    const indexes = this.#fold.buffered.map((_, at) => at).filter((at) => at !== index);
    this.#fold1({ kind: 'buffer-kept', indexes });
  }

  /** The name of an input that comes in next, for one whose client gave it none (PROTOCOLS 9). */
  get origin(): string {
    const { runId, transition } = this.#fold;
    const at = this.#changes.length;
    return originId({ runId, epoch: this.ctx.epoch, number: transition + 1, at });
  }

  /** The request is remembered by the ledger of the workflow id (D15). An empty id is not. */
  remember(entry: Pick<LedgerEntry, 'requestId' | 'kind'>): void {
    if (entry.requestId === '') return;
    this.#ledger.push({ ...entry, runId: this.#fold.runId, at: this.#now });
  }

  /** A start that a worker holds may be ahead of our clock after a takeover: time goes on from it. */
  notBefore(at: EpochMs): void {
    this.#now = Math.max(this.#now, at);
  }

  /** Ends the draft. */
  finish(): Step {
    const number = this.#fold.transition + 1;
    const { namespaceId, workflowId, runId } = this.#fold;
    const at = this.#now;
    const epoch = this.ctx.epoch;
    const state = sealFold(this.#fold, { number, at });
    const current = state.status === this.#before.status ? undefined : currentRun(state);
    const turn = this.#before.epoch === epoch ? {} : { previousEpoch: this.#before.epoch };
    const ledger = this.#ledger.length > 0 ? this.#ledger : undefined;
    const execution =
      current === undefined && ledger === undefined
        ? {}
        : {
            execution: {
              ...(current === undefined ? {} : { current }),
              ...(ledger === undefined ? {} : { ledger }),
            },
          };
    const changes = this.#changes;
    return {
      transition: {
        namespaceId,
        workflowId,
        runId,
        number,
        epoch,
        at,
        changes,
        ...turn,
        ...execution,
      },
      state,
    };
  }

  #write(event: HistoryEvent): number {
    const linked = linkStarted(event, this.#last);
    this.#fold1(linked);
    this.#last = linked;
    return linked.eventId;
  }

  #fold1(change: Change): void {
    applyChange(this.#fold, change);
    this.#changes.push(change);
  }
}

export function isOpen(state: RunState): boolean {
  return state.status === WorkflowExecutionStatus.Running;
}

/** The pointer of a workflow id to this run. */
export function currentRun(state: RunState): CurrentRun {
  return {
    epoch: state.epoch,
    runId: state.runId,
    firstRunId: state.start.firstRunId,
    status: state.status,
    startRequestId: state.start.requestId,
    startedAt: state.start.startedAt,
    ...(state.closedAt === undefined ? {} : { closedAt: state.closedAt }),
  };
}

/** A start as the event that says it. */
export function startedAttributes(start: TaskStart): EventAttributes<'WorkflowTaskStarted'> {
  return {
    scheduledEventId: start.scheduledEventId,
    identity: start.identity,
    requestId: start.requestId,
    historySizeBytes: start.historyBytes,
    suggestContinueAsNew: start.suggestContinueAsNew,
  };
}

/** Absent extras stay absent keys: events are compared and encoded by what they hold. */
function kept(extras: EventExtras): Pick<EventExtras, 'userMetadata' | 'links'> {
  return {
    ...(extras.userMetadata === undefined ? {} : { userMetadata: extras.userMetadata }),
    ...(extras.links === undefined ? {} : { links: extras.links }),
  };
}

/** The closing event of an activity names the started event written directly before it (draft-change.ts 4). */
function linkStarted(event: HistoryEvent, before: HistoryEvent | undefined): HistoryEvent {
  if (before?.kind !== 'ActivityTaskStarted') return event;
  switch (event.kind) {
    case 'ActivityTaskCompleted':
    case 'ActivityTaskFailed':
    case 'ActivityTaskTimedOut':
    case 'ActivityTaskCanceled': {
      const { startedEventId, scheduledEventId } = event.attributes;
      if (startedEventId || scheduledEventId !== before.attributes.scheduledEventId) return event;
      const attributes = { ...event.attributes, startedEventId: before.eventId };
      return { ...event, attributes } as HistoryEvent;
    }
    default:
      return event;
  }
}
