/**
 * Records of the shard log: a batch of transitions as bytes and back (D2, D17).
 *
 *   byte 0     format version
 *   format 1   CBOR [namespace ids, transitions]; a transition names its namespace by position (PROTOCOLS 7: the
 *              header lists the namespaces), carries its events as stored history bytes, and its patches with the
 *              number of events before each
 *   format 2   the same, then marks of namespaces and adopted runs; written only where there are some
 *   format 3   the same, then removed runs; written only where there are some
 *
 * Invariants
 *  1. decodeRecord(encodeRecord(steps, beside)) gives equal content.
 *  2. An unknown format is refused, never skipped: the shard stops and says so.
 *  3. Within a record a workflow id has transitions, one adoption or one removal, never two of them (gather.ts); a mark
 *     comes after the transitions.
 */
import { AtollError } from '../../../kernel/errors.ts';
import { decodeCbor, encodeCbor } from '../../../wire/cbor.ts';
import { decodeEvents, encodeEvents } from '../../../wire/event-codec.ts';
import type { HistoryEvent } from '../../../wire/events.ts';
import type { CurrentRun, ExecutionChange, LedgerEntry } from '../../history/execution.ts';
import type { Change, Patch } from '../../history/patch.ts';
import { decodeState, encodeState, type EncodedState } from '../../history/state-codec.ts';
import type { RunState } from '../../history/state.ts';
import type { Transition } from '../../history/transition.ts';
import type { Mark } from '../mark.ts';
import { arrayHead, transitionBytes } from './transition-bytes.ts';

/** Transitions alone. */
export const STEPS_FORMAT = 1;
/** Transitions, marks and adoptions. */
export const MIXED_FORMAT = 2;
/** All of them, and removals. */
export const REMOVING_FORMAT = 3;

/** A decided step with its events encoded once: for the record, the views and the workers alike. */
export type EncodedStep = {
  readonly transition: Transition;
  /** The state after it, `historyBytes` included. */
  readonly state: RunState;
  /** Encoded events; empty when there are none. */
  readonly events: Uint8Array;
  readonly firstEventId: number;
  readonly lastEventId: number;
};

/**
 * A run taken over whole from another cell (PROTOCOLS 7, 9): the state that it has there, and the events that lack here.
 */
export type Adoption = {
  readonly state: RunState;
  /** Under which its history rows lie; another than before where its branch replaces ours. */
  readonly historyId: string;
  /** 1 where the branch replaces ours, else one after our last event. */
  readonly firstEventId: number;
  readonly events: Uint8Array;
  /** Where the workflow id points from here on; undefined: where it did. */
  readonly current?: CurrentRun | undefined;
  /** Entries that our ledger lacks. */
  readonly ledger: readonly LedgerEntry[];
  /** Request ids that leave our ledger: only the branch that lost had taken them. */
  readonly forgotten: readonly string[];
};

/** A run that a replica must not have (a stray of a bug or of bad storage) goes with all that is stored of it. */
export type Removal = {
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
  /** Under which its history rows lie, those of branches that lost included. */
  readonly historyIds: readonly string[];
  /** The workflow id pointed to it: pointer and ledger go, too. */
  readonly execution: boolean;
};

/** What a record holds beside transitions. */
export type Beside = {
  readonly marks: readonly Mark[];
  readonly adoptions: readonly Adoption[];
  readonly removals: readonly Removal[];
};

export type LogRecord = Beside & { readonly steps: readonly DecodedStep[] };

type WireAdoption = readonly [
  state: EncodedState,
  historyId: string,
  firstEventId: number,
  events: Uint8Array,
  current: CurrentRun | null,
  ledger: readonly LedgerEntry[],
  forgotten?: readonly string[],
];
type WireRecord = readonly [
  namespaces: readonly string[],
  transitions: readonly WireTransition[],
  marks?: readonly Mark[],
  adoptions?: readonly WireAdoption[],
  removals?: readonly Removal[],
];

type WirePatch = readonly [eventsBefore: number, patch: Patch];
type WireTransition = readonly [
  namespace: number,
  workflowId: string,
  runId: string,
  number: number,
  epoch: number,
  at: number,
  events: Uint8Array,
  patches: readonly WirePatch[],
  execution: ExecutionChange | null,
  /** Only where the transition before was made in another epoch. */
  previousEpoch?: number,
];

const NOTHING_BESIDE: Beside = { marks: [], adoptions: [], removals: [] };

const NO_EVENTS = new Uint8Array(0);

/** Encodes a transition's events and completes the state with their size. */
export function encodeStep(transition: Transition, state: RunState): EncodedStep {
  const events = transition.changes.filter(isEvent);
  const first = events[0];
  const bytes = first ? encodeEvents(events) : NO_EVENTS;
  return {
    transition,
    state: { ...state, historyBytes: state.historyBytes + bytes.length },
    events: bytes,
    firstEventId: first?.eventId ?? 0,
    lastEventId: events.at(-1)?.eventId ?? 0,
  };
}

export function encodeRecord(
  steps: readonly Pick<EncodedStep, 'transition' | 'events'>[],
  { marks, adoptions, removals }: Beside = NOTHING_BESIDE,
): Uint8Array {
  const namespaces: string[] = [];
  const transitions = steps.flatMap((step) => {
    const { namespaceId } = step.transition;
    let namespace = namespaces.indexOf(namespaceId);
    if (namespace < 0) namespace = namespaces.push(namespaceId) - 1;
    return transitionBytes(step.transition, namespace, () => wireTransition(step));
  });
  const format = formatOf({ marks, adoptions, removals });
  const beside =
    format === STEPS_FORMAT
      ? []
      : format === MIXED_FORMAT
        ? [marks, adoptions.map(wireAdoption)]
        : [marks, adoptions.map(wireAdoption), removals];
  return Buffer.concat([
    Uint8Array.of(format, ...arrayHead(2 + beside.length)),
    encodeCbor(namespaces),
    Uint8Array.from(arrayHead(steps.length)),
    ...transitions,
    ...beside.map(encodeCbor),
  ]);
}

/** The least that holds what there is: older releases read what they know (D17). */
function formatOf({ marks, adoptions, removals }: Beside): number {
  if (removals.length > 0) return REMOVING_FORMAT;
  return marks.length + adoptions.length > 0 ? MIXED_FORMAT : STEPS_FORMAT;
}

export type DecodedStep = Omit<EncodedStep, 'state'>;

/** Errors: `data-loss` for a format this release does not read. */
export function decodeRecord(record: Uint8Array): LogRecord {
  const format = record[0] ?? 0;
  if (format < STEPS_FORMAT || format > REMOVING_FORMAT) {
    throw new AtollError(
      'data-loss',
      `a log record has format ${format}, this release reads ${STEPS_FORMAT} to ${REMOVING_FORMAT}: start the release that wrote it`,
    );
  }
  const wire = decodeCbor(record.subarray(1)) as WireRecord;
  const [namespaces, transitions, marks = [], adoptions = [], removals = []] = wire;
  return {
    steps: transitions.map((t) => decodeTransition(namespaces[t[0]] ?? '', t)),
    marks,
    adoptions: adoptions.map(decodeAdoption),
    removals,
  };
}

/** Behind the place of its namespace. */
function wireTransition({
  transition,
  events,
}: Pick<EncodedStep, 'transition' | 'events'>): readonly unknown[] {
  const { workflowId, runId, number, epoch, at, previousEpoch } = transition;
  const patches = patchesOf(transition);
  const execution = transition.execution ?? null;
  const wire = [workflowId, runId, number, epoch, at, events, patches, execution];
  return previousEpoch === undefined ? wire : [...wire, previousEpoch];
}

function decodeTransition(namespaceId: string, wire: WireTransition): DecodedStep {
  const [, workflowId, runId, number, epoch, at, events, patches, execution, previousEpoch] = wire;
  const decoded = events.length > 0 ? decodeEvents(events) : [];
  return {
    transition: {
      namespaceId,
      workflowId,
      runId,
      number,
      epoch,
      ...(previousEpoch === undefined ? {} : { previousEpoch }),
      at,
      changes: weave(decoded, patches),
      ...(execution ? { execution } : {}),
    },
    events,
    firstEventId: decoded[0]?.eventId ?? 0,
    lastEventId: decoded.at(-1)?.eventId ?? 0,
  };
}

function wireAdoption(adoption: Adoption): WireAdoption {
  const { state, historyId, firstEventId, events, current, ledger, forgotten } = adoption;
  const encoded = encodeState(state);
  return [encoded, historyId, firstEventId, events, current ?? null, ledger, forgotten];
}

function decodeAdoption(wire: WireAdoption): Adoption {
  const [state, historyId, firstEventId, events, current, ledger, forgotten = []] = wire;
  const rest = { historyId, firstEventId, events, ledger, forgotten };
  return { state: decodeState(state), ...rest, ...(current ? { current } : {}) };
}

function isEvent(change: Change): change is HistoryEvent {
  return 'eventId' in change;
}

function patchesOf(transition: Transition): WirePatch[] {
  const patches: WirePatch[] = [];
  let eventsBefore = 0;
  for (const change of transition.changes) {
    if (isEvent(change)) eventsBefore += 1;
    else patches.push([eventsBefore, change]);
  }
  return patches;
}

function weave(events: readonly HistoryEvent[], patches: readonly WirePatch[]): Change[] {
  const changes: Change[] = [];
  let next = 0;
  for (let before = 0; before <= events.length; before += 1) {
    for (let patch = patches[next]; patch && patch[0] === before; patch = patches[next]) {
      changes.push(patch[1]);
      next += 1;
    }
    const event = events[before];
    if (event) changes.push(event);
  }
  return changes;
}
