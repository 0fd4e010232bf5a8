/**
 * A laboratory for one workflow id: asks decide as the shell does, keeps what it commits, and checks on every step
 * what must always hold. No I/O, a clock that is a number.
 *
 * Checked at every step
 *  1. decide's state equals the fold of its transitions, from the first one on (history.ts, invariant 2).
 *  2. A state survives its codec, and folds on equally from there, also with events that went over the wire.
 *  3. Keys of pending work are unique; event ids are contiguous; event times never go back.
 *  4. At most one open run (P3).
 */
import { expect } from 'vitest';
import { decodeEvents, encodeEvents } from '../../../wire/event-codec.ts';
import type { HistoryEvent } from '../../../wire/events.ts';
import { defaultHistoryLimits } from '../decision.ts';
import type {
  DecideContext,
  Decision,
  HistoryLimits,
  LiveRun,
  Step,
  WorkflowTaskStartedReply,
} from '../decision.ts';
import type { CurrentRun, LedgerEntry } from '../execution.ts';
import { applyTransition, decide, decideStart, pendingWork } from '../history.ts';
import type { RunInput, StartInput } from '../input.ts';
import { meaning } from './meaning.ts';
import { decodeState, encodeState } from '../state-codec.ts';
import type { RunState, TaskStart } from '../state.ts';
import type { Transition } from '../transition.ts';
import type { Work } from '../work.ts';

export const IDS = { namespaceId: 'ns', workflowId: 'wf' };

/** Frozen all through, so that a decision which writes into what it was given fails its test. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (value instanceof Map) for (const inner of value.values()) frozen(inner);
  else if (!Object.isFrozen(value)) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

/** The transition as it comes back from the log: its events decoded from bytes. */
function stored(transition: Transition): Transition {
  const changes = transition.changes.map((change) =>
    'eventId' in change ? (decodeEvents(encodeEvents([change]))[0] ?? change) : change,
  );
  return { ...transition, changes };
}

export class Lab {
  now = 1_000_000;
  epoch = 1;
  limits: HistoryLimits = defaultHistoryLimits;
  current: CurrentRun | undefined;
  /** The run asked by default: the newest. */
  runId = '';
  readonly ledger = new Map<string, LedgerEntry>();
  readonly runs = new Map<string, RunState>();
  readonly transitions = new Map<string, Transition[]>();
  start: TaskStart | undefined;
  #fresh = 0;

  get state(): RunState {
    const state = this.runs.get(this.runId);
    if (!state) throw new Error('no run yet');
    return state;
  }

  get live(): LiveRun {
    return { state: this.state, start: this.start };
  }

  get events(): readonly HistoryEvent[] {
    return this.eventsOf(this.runId);
  }

  get work(): readonly Work[] {
    return pendingWork(this.state, this.start);
  }

  eventsOf(runId: string): readonly HistoryEvent[] {
    const transitions = this.transitions.get(runId) ?? [];
    return transitions.flatMap((t) => t.changes.filter((change) => 'eventId' in change));
  }

  begin(input: StartInput): Decision {
    const { current } = this;
    const execution = current && { ...IDS, current, ledger: { find: this.#find } };
    const open = current?.status === 1 ? { current: this.live } : {};
    const scope = { ...IDS, ...(execution ? { execution } : {}), ...open };
    return this.#take(decideStart(scope, input, this.#context()));
  }

  /** @param runId the run asked; an older one is closed, and late workers speak of it */
  ask(input: RunInput, runId = this.runId): Decision {
    const state = this.runs.get(runId);
    const run = runId === this.runId || !state ? this.live : { state };
    return this.#take(decide(run, input, this.#context()));
  }

  /** The owner dies and another takes over: what was memory only is gone (D7). */
  crash(): void {
    this.start = undefined;
  }

  /** The worker's view of a task: stored events up to the reply's, then the virtual ones. */
  seen(reply: WorkflowTaskStartedReply): readonly HistoryEvent[] {
    const stored = this.events.filter((event) => event.eventId <= reply.lastStoredEventId);
    return [...stored, ...reply.virtualEvents];
  }

  readonly #find = (requestId: string) => this.ledger.get(requestId);

  #context(): DecideContext {
    const { now, epoch, limits } = this;
    const freshRunId = `run-${this.#fresh + 1}`;
    return { now, epoch, freshRunId, ledger: { find: this.#find }, limits };
  }

  #take(decision: Decision): Decision {
    if (decision.kind === 'start') this.start = decision.start;
    if (decision.kind === 'commit') {
      for (const step of decision.steps) this.#commit(step);
      this.start = decision.start;
    }
    return decision;
  }

  #commit({ transition, state }: Step): void {
    const { runId } = transition;
    const list = this.transitions.get(runId) ?? [];
    if (list.length === 0) this.#fresh += 1;
    list.push(transition);
    this.transitions.set(runId, list);
    this.#check(list, transition, state);
    this.runs.set(runId, frozen(state));
    for (const entry of transition.execution?.ledger ?? []) this.ledger.set(entry.requestId, entry);
    this.current = transition.execution?.current ?? this.current;
    this.runId = runId;
  }

  #check(list: readonly Transition[], transition: Transition, state: RunState): void {
    let folded: RunState | undefined;
    for (const one of list) folded = applyTransition(folded, one);
    expect(folded).toEqual(state);
    expect(decodeState(encodeState(state))).toEqual(state);
    const before = this.runs.get(transition.runId);
    if (before)
      expect(
        meaning(applyTransition(decodeState(encodeState(before)), stored(transition))),
      ).toEqual(meaning(state));
    const keys = pendingWork(state).map((work) => work.key);
    expect(new Set(keys).size).toBe(keys.length);
    const events = this.eventsOf(transition.runId);
    expect(events.map((event) => event.eventId)).toEqual(events.map((_, index) => index + 1));
    const times = events.map((event) => event.eventTime);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    const open = [...this.runs.values()].filter(
      (run) => run.status === 1 && run.runId !== state.runId,
    );
    if (state.status === 1) expect(open.map((run) => run.runId)).toEqual([]);
  }
}
