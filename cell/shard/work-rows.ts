/**
 * The view rows of a run's pending work (D5): derived from its state alone, so that what a row says can be told without
 * reading it.
 *
 * Invariant: a task that waits for its time is a row among the timers, so that no owner must hold far ones in memory; its
 * key sent back as a due clock is obsolete, after which the task itself is offered.
 */
import { pendingWork } from '../history/history.ts';
import { decodeState, type EncodedState } from '../history/state-codec.ts';
import type { RunState } from '../history/state.ts';
import { decodeBlob } from './blob.ts';

/** Key of the row that says: visibility has not acknowledged the run's last change. */
export const INDEX_WORK = 'i';

/** Work rows by key: due time of a row among the timers, nothing of a row among the tasks. */
export function workRows(state: RunState): Map<string, number | undefined> {
  const rows = new Map<string, number | undefined>();
  for (const item of pendingWork(state)) {
    if (item.kind === 'timer') rows.set(item.key, item.dueAt);
    else rows.set(item.key, item.notBefore > state.lastAt ? item.notBefore : undefined);
  }
  return rows;
}

export function stateOfRow(row: { readonly state: Uint8Array }): RunState {
  return decodeState(decodeBlob(row.state, 'run') as EncodedState);
}
