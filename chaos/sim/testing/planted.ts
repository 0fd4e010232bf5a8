/** Evidence of one small order that ran well, for tests that plant a breach in it. */
import { encodeRecord, encodeStep } from '../../../cell/shard/log/record-codec.ts';
import { applyTransition } from '../../../cell/history/history.ts';
import type { RunState } from '../../../cell/history/state.ts';
import type { Transition } from '../../../cell/history/transition.ts';
import type { RangeId, Seq, ShardId } from '../../../cell/storage/shard-log.ts';
import type { HistoryEvent } from '../../../wire/events.ts';
import { Chronicle } from '../chronicle.ts';
import type { Order } from '../client.ts';
import { readHistory, type Evidence } from '../evidence.ts';
import { NAMESPACE_ID } from '../host.ts';
import { Journal } from '../journal.ts';
import { toPayloads } from '../order-process.ts';
import { CHECKS, Tally } from '../tally.ts';
import type { SeenRow } from '../watched-database.ts';

export const RUN = '20000000-0000-4000-8000-000000000001';
export const ORDER: Order = {
  workflowId: 'order-1',
  fate: 'declined',
  beginsMs: 0,
  shipWithinMs: 1_000,
  ships: false,
  notes: 1,
  ending: 'none',
  startsAgain: false,
};

const AT = 1_767_225_600_000;
const common = { eventTime: AT, version: 1 };

const STARTED: HistoryEvent = {
  ...common,
  eventId: 1,
  kind: 'WorkflowExecutionStarted',
  attributes: {
    workflowType: { name: 'order' },
    taskQueue: { name: 'orders' },
    originalExecutionRunId: RUN,
  },
};
const SIGNALED: HistoryEvent = {
  ...common,
  eventId: 2,
  kind: 'WorkflowExecutionSignaled',
  attributes: { signalName: 'signal', input: toPayloads('order-1/note-1') },
};
const COMPLETED: HistoryEvent = {
  ...common,
  eventId: 3,
  kind: 'WorkflowExecutionCompleted',
  attributes: { result: toPayloads('payment-declined') },
};

/** The three transitions of a run: started, signaled, completed. */
export function transitions(runId = RUN): readonly Transition[] {
  const of = (number: number, event: HistoryEvent, requestId?: string): Transition => ({
    namespaceId: NAMESPACE_ID,
    workflowId: 'order-1',
    runId,
    number,
    epoch: 1,
    at: AT,
    changes: [event],
    ...(requestId === undefined
      ? {}
      : { execution: { ledger: [{ requestId, kind: 'signal', runId, at: AT }] } }),
  });
  return [of(1, STARTED, 'order-1/start-1'), of(2, SIGNALED, 'order-1/note-1'), of(3, COMPLETED)];
}

/** Log rows of one shard, a transition each, one every 1,000 ms. */
export function rowsOf(steps: readonly Transition[]): Map<number, SeenRow> {
  const states = new Map<string, RunState>();
  return new Map(
    steps.map((transition, index) => {
      const seq = (index + 1) as Seq;
      const state = stateAfter(states, transition);
      const row: SeenRow = {
        shard: 0 as ShardId,
        seq,
        range: 1 as RangeId,
        nonce: new Uint8Array([seq]),
        takeover: false,
        record: encodeRecord([encodeStep(transition, state)]),
        atMs: seq * 1_000,
        order: seq,
      };
      return [seq, row];
    }),
  );
}

/** Encoding does not look at the state, so that a planted transition may fit nothing. */
function stateAfter(states: Map<string, RunState>, transition: Transition): RunState {
  const before = states.get(transition.runId);
  if (before && before.transition + 1 !== transition.number) return before;
  const state = applyTransition(before, transition);
  states.set(transition.runId, state);
  return state;
}

/** What a faultless run leaves behind, with what a test changes of it. */
export function evidence(
  change: {
    readonly steps?: readonly Transition[];
    readonly events?: readonly HistoryEvent[];
  } = {},
): Evidence {
  const { steps = transitions(), events = [STARTED, SIGNALED, COMPLETED] } = change;
  const journal = new Journal();
  const who = { workflowId: 'order-1', runId: RUN };
  journal.writes.push(
    { kind: 'start', ...who, requestId: 'order-1/start-1', ackedMs: 1_001 },
    { kind: 'signal', ...who, requestId: 'order-1/note-1', ackedMs: 2_001 },
  );
  const history = readHistory(who, events);
  return {
    journal,
    chronicle: new Chronicle([rowsOf(steps)], []),
    histories: new Map([[RUN, history]]),
    orders: [ORDER],
    ledger: [],
  };
}

export function tally() {
  return new Tally(CHECKS);
}

export const EVENTS = { STARTED, SIGNALED, COMPLETED };
