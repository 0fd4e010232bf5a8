/**
 * Records of the shard log: a batch of transitions as bytes and back (D2, D17).
 *
 *   byte 0     format version
 *   rest       CBOR [namespace ids, transitions]; a transition names its namespace by position (PROTOCOLS 7: the
 *              header lists the namespaces), carries its events as stored history bytes, and its patches with the
 *              number of events before each
 *
 * Invariants
 *  1. decodeRecord(encodeRecord(steps)) gives equal transitions.
 *  2. An unknown format is refused, never skipped: the shard stops and says so.
 */
import { AtollError } from '../../kernel/errors.ts';
import { decodeCbor, encodeCbor } from '../../wire/cbor.ts';
import { decodeEvents, encodeEvents } from '../../wire/event-codec.ts';
import type { HistoryEvent } from '../../wire/events.ts';
import type { ExecutionChange } from '../history/execution.ts';
import type { Change, Patch } from '../history/patch.ts';
import type { RunState } from '../history/state.ts';
import type { Transition } from '../history/transition.ts';

export const RECORD_FORMAT = 1;

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
  /** Null, or absent in older records, where it is the same epoch. */
  previousEpoch?: number | null,
];

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
): Uint8Array {
  const namespaces: string[] = [];
  const transitions = steps.map(({ transition, events }): WireTransition => {
    let namespace = namespaces.indexOf(transition.namespaceId);
    if (namespace < 0) namespace = namespaces.push(transition.namespaceId) - 1;
    const { workflowId, runId, number, epoch, at, previousEpoch } = transition;
    const execution = transition.execution ?? null;
    return [
      namespace,
      workflowId,
      runId,
      number,
      epoch,
      at,
      events,
      patchesOf(transition),
      execution,
      previousEpoch ?? null,
    ];
  });
  const body = encodeCbor([namespaces, transitions]);
  const record = new Uint8Array(body.length + 1);
  record[0] = RECORD_FORMAT;
  record.set(body, 1);
  return record;
}

export type DecodedStep = Omit<EncodedStep, 'state'>;

/** Errors: `data-loss` for a format this release does not read. */
export function decodeRecord(record: Uint8Array): readonly DecodedStep[] {
  if (record[0] !== RECORD_FORMAT) {
    throw new AtollError(
      'data-loss',
      `a log record has format ${record[0]}, this release reads ${RECORD_FORMAT}: start the release that wrote it`,
    );
  }
  const [namespaces, transitions] = decodeCbor(record.subarray(1)) as [string[], WireTransition[]];
  return transitions.map((t) => decodeTransition(namespaces[t[0]] ?? '', t));
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
      at,
      changes: weave(decoded, patches),
      ...(typeof previousEpoch === 'number' ? { previousEpoch } : {}),
      ...(execution ? { execution } : {}),
    },
    events,
    firstEventId: decoded[0]?.eventId ?? 0,
    lastEventId: decoded.at(-1)?.eventId ?? 0,
  };
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
