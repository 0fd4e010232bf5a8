/**
 * Run states as plain values and back (D17): what the shell hands to its byte encoder for view rows and caches.
 * Maps become lists in their order, which is part of the state (order of scheduling).
 *
 * Place: the shard's checkpoint and takeover. Pointers, ledger entries and patches are plain data as they are.
 *
 * Invariants
 *  1. decodeState(encodeState(state)) equals state.
 *  2. A format that this release does not know is refused, never guessed: the shard stops and says so.
 */
import { AtollError } from '../../kernel/errors.ts';
import type { PendingActivity, PendingTimer, RunState } from './state.ts';

/** Written as the first element. A later release grows `RunState` by optional fields, or takes the next number. */
export const STATE_FORMAT = 1;

type FlatState = Omit<RunState, 'activities' | 'timers' | 'lineage'> & {
  /** Absent in rows of the time when a run had one branch only. */
  readonly lineage?: RunState['lineage'] | undefined;
  readonly activities: readonly PendingActivity[];
  readonly timers: readonly PendingTimer[];
};

/** A state as plain data: objects, arrays, strings, numbers, booleans, byte arrays. */
export type EncodedState = readonly [format: number, state: FlatState];

export function encodeState(state: RunState): EncodedState {
  const activities = [...state.activities.values()];
  const timers = [...state.timers.values()];
  return [STATE_FORMAT, { ...state, activities, timers }];
}

/** @throws AtollError `data-loss` for a format that this release does not read */
export function decodeState(encoded: EncodedState): RunState {
  const [format, state] = encoded;
  if (format !== STATE_FORMAT)
    throw new AtollError(
      'data-loss',
      `a run's state has format ${format}, this release reads ${STATE_FORMAT}: start the release that wrote it`,
    );
  const { epoch, transition, nextEventId } = state;
  return {
    ...state,
    lineage: state.lineage ?? [{ epoch, transition, eventId: nextEventId - 1 }],
    activities: new Map(state.activities.map((one) => [one.scheduledEventId, one])),
    timers: new Map(state.timers.map((one) => [one.timerId, one])),
  };
}
