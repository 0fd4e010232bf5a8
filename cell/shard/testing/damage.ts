/**
 * What bit rot, torn writes and bugs do to what a replica has stored: one kind each, for tests of the comparison.
 *
 * Invariant: a kind changes what is stored of one workflow id, or says that it cannot.
 */
import type { CurrentRun, LedgerEntry } from '../../history/execution.ts';
import type { BufferedEvent, PendingActivity, RunState } from '../../history/state.ts';
import { decodeBlob, encodeBlob } from '../blob.ts';
import { encodeRun, runOfRow } from '../views/work-rows.ts';
import { executionKey, runKey, type ShardTables } from '../../storage/memory/tables.ts';
import type { HistoryRow, LedgerRow, RunKey, RunRow } from '../../storage/views.ts';
import type { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { scanEvents } from '../../../wire/event-scan.ts';

export type Victim = {
  readonly stored: ShardTables;
  readonly run: RunKey;
  readonly rng: SeededRng;
};

/** Whose digests it shows in: the run, all runs of its workflow id, or a run that it made. */
export type Shows = 'run' | 'all' | { readonly extra: string };

/** Undefined: this victim has nothing of the kind. */
export type Damage = (victim: Victim) => Shows | undefined;

/** Damage to history bytes. */
export const IN_HISTORY: Readonly<Record<string, Damage>> = {
  'a bit of an event': onHistory((row, rng) => {
    const events = Uint8Array.from(row.events);
    const at = rng.integer(0, events.length - 1);
    events[at] = (events[at] ?? 0) ^ (1 << rng.integer(0, 7));
    return [{ ...row, events }];
  }),
  'a row is missing': onHistory(() => []),
  'the last event of a row is cut off': onHistory((row) => {
    const last = scanEvents(row.events).at(-1);
    return last && [{ ...row, events: row.events.subarray(0, last.start) }];
  }),
  'an event is there twice': onHistory((row) => {
    const [first] = scanEvents(row.events);
    return (
      first && [{ ...row, events: Buffer.concat([row.events.subarray(0, first.end), row.events]) }]
    );
  }),
  'a row is numbered otherwise': onHistory((row) => [{ ...row, lastEventId: row.lastEventId + 1 }]),
  'a row of zeros': onHistory((row) => [{ ...row, events: new Uint8Array(row.events.length) }]),
};

/** Damage to anything else. */
export const BESIDE_HISTORY: Readonly<Record<string, Damage>> = {
  attempt: onActivity((one) => ({ ...one, attempt: one.attempt + 1 })),
  'heartbeat details': onActivity((one) => {
    if (one.heartbeatDetails === undefined) return undefined;
    return { ...one, heartbeatDetails: { payloads: [] } };
  }),
  'activity is forgotten': onState(({ activities, ...state }) =>
    activities.size === 0 ? undefined : { ...state, activities: new Map() },
  ),
  'timer is due at another time': onState(({ timers, ...state }) => {
    const [timer] = timers.values();
    if (!timer) return undefined;
    const moved = { ...timer, dueAt: timer.dueAt + 1_000 };
    return { ...state, timers: new Map([...timers, [timer.timerId, moved]]) };
  }),
  'timer is forgotten': onState(({ timers, ...state }) =>
    timers.size === 0 ? undefined : { ...state, timers: new Map([...timers].slice(1)) },
  ),
  'buffered event is lost': onState((state) =>
    state.buffered.length === 0 ? undefined : { ...state, buffered: state.buffered.slice(1) },
  ),
  'buffered event is there twice': onState((state) => {
    const [first]: readonly BufferedEvent[] = state.buffered;
    return first && { ...state, buffered: [first, ...state.buffered] };
  }),
  memo: onState((state) =>
    state.memo === undefined ? undefined : { ...state, memo: { fields: {} } },
  ),
  'search attribute': onState(({ searchAttributes, ...state }) => searchAttributes && state),
  status: onState((state) => ({ ...state, status: state.status === 1 ? 2 : 1 })),
  'closed and yet open': onRow((row) => ({ ...row, open: !row.open })),
  'signal count': onState((state) => ({ ...state, signalCount: state.signalCount + 1 })),
  'cancel request': onState((state) => ({ ...state, cancelRequested: !state.cancelRequested })),
  'workflow task is forgotten': onState(({ workflowTask, ...state }) => workflowTask && state),
  'behind its number': onState((state) => ({ ...state, transition: state.transition - 1 })),
  'ahead of its number': onState((state) => {
    const transition = state.transition + 3;
    const lineage = state.lineage.map((item) => ({ ...item, transition }));
    return { ...state, transition, lineage };
  }),
  'state is torn': onRow((row) => ({ ...row, state: row.state.subarray(0, row.state.length / 2) })),
  'state of another format': onRow((row) => {
    const state = Uint8Array.from(row.state);
    state[0] = 77;
    return { ...row, state };
  }),
  'state of another run': onRow((row, { stored, rng }) => {
    const others = [...stored.runs.values()].filter(({ runId }) => runId !== row.runId);
    const other = others[rng.integer(0, others.length - 1)];
    return other && { ...row, state: other.state };
  }),
  'run is missing': ({ stored, run }) => {
    stored.runs.delete(runKey(run));
    return 'run';
  },
  'run is missing with its history': ({ stored, run }) => {
    stored.runs.delete(runKey(run));
    stored.history.delete(runKey(run));
    return 'run';
  },
  'pointer to another run': onPointer((current, { rng }) => ({ ...current, runId: rng.uuid() })),
  'pointer says otherwise how it ended': onPointer((current) => ({
    ...current,
    status: current.status === 1 ? 2 : 1,
  })),
  'pointer is missing': ({ stored, run }) => {
    stored.executions.delete(executionKey(run));
    return 'all';
  },
  'pointer is torn': ({ stored, run }) => {
    const row = stored.executions.get(executionKey(run));
    if (!row) return undefined;
    stored.executions.set(executionKey(run), { ...row, pointer: row.pointer.subarray(0, 5) });
    return 'all';
  },
  'ledger entry is missing': onLedger(() => undefined),
  'ledger entry of another time': onLedger((row) => withEntry(row, { at: 1 })),
  'ledger entry of another request': onLedger((row) => withEntry(row, { requestId: 'other' })),
  'ledger entry is torn': onLedger((row) => ({ ...row, entry: row.entry.subarray(0, 3) })),
  'ledger entry too many': ({ stored, run, rng }) => {
    const requestId = `stray-${rng.uuid()}`;
    const entry: LedgerEntry = { requestId, kind: 'signal', runId: run.runId, at: 7 };
    const { namespaceId, workflowId } = run;
    const row = { namespaceId, workflowId, requestId, ordinal: 900, entry: encodeBlob(entry) };
    ledgerOf(stored, run).set(requestId, row);
    return 'all';
  },
  'run too many': ({ stored, run, rng }) => copied(stored, run, { runId: rng.uuid() }),
  'workflow id too many': ({ stored, run, rng }) =>
    copied(stored, run, { runId: rng.uuid(), workflowId: `stray-${rng.uuid()}` }),
};

/** What deletes whole rows beside history: memory may still hold what they held. */
export const LOST_ROWS: Readonly<Record<string, Damage>> = {
  'every row': ({ stored, run }) => {
    const { namespaceId, workflowId } = run;
    const isOf = (row: RunKey) => row.workflowId === workflowId && row.namespaceId === namespaceId;
    const { runs, timers, tasks } = stored;
    for (const rows of [runs, timers, tasks] as Map<string, RunKey>[]) {
      for (const [key, row] of rows) if (isOf(row)) rows.delete(key);
    }
    for (const [key, rows] of stored.history) {
      if ([...rows.values()].some(isOf)) stored.history.delete(key);
    }
    stored.executions.delete(executionKey(run));
    stored.ledger.delete(executionKey(run));
    return 'all';
  },
  'the row of the run': ({ stored, run }) => {
    stored.runs.delete(runKey(run));
    return 'run';
  },
  'the pointer': ({ stored, run }) => {
    stored.executions.delete(executionKey(run));
    return 'all';
  },
  'an entry of the ledger': onLedger(() => undefined),
};

function onHistory(
  change: (row: HistoryRow, rng: SeededRng) => readonly HistoryRow[] | undefined,
): Damage {
  return ({ stored, run, rng }) => {
    const row = stored.runs.get(runKey(run));
    if (!row) return undefined;
    const historyId = runOfRow(row).branch?.historyId ?? run.runId;
    const rows = stored.history.get(runKey({ ...run, runId: historyId }));
    const keys = [...(rows?.keys() ?? [])];
    const key = keys[rng.integer(0, Math.max(0, keys.length - 1))];
    const old = key === undefined ? undefined : rows?.get(key);
    const changed = old && change(old, rng);
    if (!rows || key === undefined || !changed) return undefined;
    rows.delete(key);
    for (const one of changed) rows.set(key, one);
    return 'run';
  };
}

function onRow(change: (row: RunRow, victim: Victim) => RunRow | undefined): Damage {
  return (victim) => {
    const key = runKey(victim.run);
    const row = victim.stored.runs.get(key);
    const changed = row && change(row, victim);
    if (!changed) return undefined;
    victim.stored.runs.set(key, changed);
    return 'run';
  };
}

function onState(change: (state: RunState) => RunState | undefined): Damage {
  return onRow((row) => {
    const { state, branch = { historyId: row.runId, lost: [] } } = runOfRow(row);
    const changed = change(state);
    return (
      changed && { ...row, open: changed.closedAt === undefined, state: encodeRun(changed, branch) }
    );
  });
}

function onActivity(change: (activity: PendingActivity) => PendingActivity | undefined): Damage {
  return onState((state) => {
    const [activity] = state.activities.values();
    const changed = activity && change(activity);
    if (!changed) return undefined;
    const activities = new Map([...state.activities, [changed.scheduledEventId, changed]]);
    return { ...state, activities };
  });
}

function onPointer(change: (current: CurrentRun, victim: Victim) => CurrentRun): Damage {
  return (victim) => {
    const key = executionKey(victim.run);
    const row = victim.stored.executions.get(key);
    if (!row) return undefined;
    const current = change(decodeBlob(row.pointer, 'execution') as CurrentRun, victim);
    victim.stored.executions.set(key, { ...row, pointer: encodeBlob(current) });
    return 'all';
  };
}

function onLedger(change: (row: LedgerRow) => LedgerRow | undefined): Damage {
  return ({ stored, run, rng }) => {
    const rows = ledgerOf(stored, run);
    const all = [...rows.values()];
    const row = all[rng.integer(0, Math.max(0, all.length - 1))];
    if (!row) return undefined;
    const changed = change(row);
    if (changed) rows.set(row.requestId, changed);
    else rows.delete(row.requestId);
    return 'all';
  };
}

function ledgerOf(stored: ShardTables, run: RunKey): Map<string, LedgerRow> {
  const rows = stored.ledger.get(executionKey(run)) ?? new Map<string, LedgerRow>();
  stored.ledger.set(executionKey(run), rows);
  return rows;
}

function withEntry(row: LedgerRow, changed: Partial<LedgerEntry>): LedgerRow {
  const entry = decodeBlob(row.entry, 'ledger') as LedgerEntry;
  return { ...row, entry: encodeBlob({ ...entry, ...changed }) };
}

/** A run that nobody decided, made of another one. */
function copied(
  stored: ShardTables,
  run: RunKey,
  to: { readonly runId: string; readonly workflowId?: string },
): Shows | undefined {
  const row = stored.runs.get(runKey(run));
  if (!row) return undefined;
  const { state, branch } = runOfRow(row);
  const key = { ...run, ...to };
  const stray = encodeRun({ ...state, ...to }, { historyId: to.runId, lost: [] });
  stored.runs.set(runKey(key), { ...row, ...key, state: stray });
  const rows = stored.history.get(runKey({ ...run, runId: branch?.historyId ?? run.runId }));
  const strayRows = [...(rows ?? [])].map(([at, one]) => [at, { ...one, ...key }] as const);
  stored.history.set(runKey(key), new Map(strayRows));
  if (to.workflowId !== undefined) {
    const execution = stored.executions.get(executionKey(run));
    if (!execution) return undefined;
    const pointer = decodeBlob(execution.pointer, 'execution') as CurrentRun;
    stored.executions.set(executionKey(key), {
      ...execution,
      workflowId: to.workflowId,
      pointer: encodeBlob({ ...pointer, runId: to.runId }),
    });
    ledgerOf(stored, key);
  }
  return { extra: to.runId };
}
