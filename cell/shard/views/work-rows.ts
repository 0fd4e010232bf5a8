/**
 * The view rows of a run's pending work (D5): derived from its state alone, so that what a row says can be told without
 * reading it.
 *
 * Invariant: a task that waits for its time is a row among the timers, so that no owner must hold far ones in memory; its
 * key sent back as a due clock is obsolete, after which the task itself is offered.
 */
import { pendingWork } from '../../history/history.ts';
import { decodeState, encodeState, type EncodedState } from '../../history/state-codec.ts';
import type { RunState } from '../../history/state.ts';
import { decodeBlob, encodeBlob } from '../blob.ts';
import type { RunBranch } from '../runs/cached.ts';

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

type RunBlob = readonly [...EncodedState, branch?: RunBranch];

/** The blob of a run row: its state, and where its history lies if that is not under its own id. */
export function encodeRun(state: RunState, branch: RunBranch): Uint8Array {
  const own = branch.historyId === state.runId && branch.lost.length === 0;
  return encodeBlob(own ? encodeState(state) : [...encodeState(state), branch]);
}

export function stateOfRow(row: { readonly state: Uint8Array }): RunState {
  return runOfRow(row).state;
}

export function runOfRow(row: { readonly state: Uint8Array }): {
  readonly state: RunState;
  readonly branch?: RunBranch | undefined;
} {
  const [format, state, branch] = decodeBlob(row.state, 'run') as RunBlob;
  return { state: decodeState([format, state]), branch };
}
