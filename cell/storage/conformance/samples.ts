/** Rows and shorthands of the conformance suite. */
import { expect } from 'vitest';
import { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import type {
  AppendOutcome,
  Checkpoint,
  LogRow,
  RangeId,
  Seq,
  SessionId,
  ShardId,
} from '../shard-log.ts';
import type { RunKey, ViewBatch } from '../views.ts';
import type { Store } from './harness.ts';

const rng = new SeededRng(20260101);

/** A signal that never aborts: these tests have a deadline of their own. */
export const never = new AbortController().signal;

export const NAMESPACE = '6f1c0e5e-1111-4222-8333-444455556666';
export const OTHER_NAMESPACE = '7f1c0e5e-1111-4222-8333-444455556666';

export function shard(id: number): ShardId {
  return id as ShardId;
}
export function seq(position: number): Seq {
  return position as Seq;
}
export function range(id: number): RangeId {
  return id as RangeId;
}

export function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}

/** A log row with a nonce of its own. */
export function logRow(
  at: readonly [shard: number, seq: number, range: number],
  { takeover = false, record = bytes(`record ${at.join('/')}`) } = {},
): LogRow {
  return {
    shard: shard(at[0]),
    seq: seq(at[1]),
    range: range(at[2]),
    nonce: rng.bytes(16),
    takeover,
    record,
  };
}

export function runKey(workflowId: string): RunKey {
  return { namespaceId: NAMESPACE, workflowId, runId: rng.uuid() };
}

export const noViews: ViewBatch = {
  runs: [],
  executions: [],
  ledger: { put: [], drop: [] },
  history: [],
  timers: { put: [], drop: [] },
  tasks: { put: [], drop: [] },
  gone: { runs: [], executions: [] },
};

/** A checkpoint of shard 0 … from one seq to another, which cuts the log as far as it goes. */
export function checkpointOf(
  at: readonly [shard: number, range: number, from: number, to: number],
  {
    views = noViews,
    deleteTo = at[3],
    notes,
  }: { views?: Partial<ViewBatch>; deleteTo?: number; notes?: Uint8Array } = {},
): Checkpoint {
  return {
    shard: shard(at[0]),
    range: range(at[1]),
    from: seq(at[2]),
    to: seq(at[3]),
    deleteTo: seq(deleteTo),
    views: { ...noViews, ...views },
    ...(notes === undefined ? {} : { notes }),
  };
}

export async function sessionOf(store: Store): Promise<SessionId> {
  return (await store.log.verify([], never)).session;
}

/** Appends rows on the store's live session. */
export async function append(
  store: Store,
  rows: readonly LogRow[],
  signal: AbortSignal = never,
): Promise<readonly AppendOutcome[]> {
  return store.log.append(rows, await sessionOf(store), signal);
}

/** Appends rows that must be committed. */
export async function commit(store: Store, ...rows: readonly LogRow[]): Promise<void> {
  const outcomes = await append(store, rows);
  expect(outcomes.map(({ kind }) => kind)).toEqual(rows.map(() => 'committed'));
}

/** PROTOCOLS 2, steps 1 and 2; returns the takeover row. */
export async function takeOver(store: Store, id: number): Promise<LogRow> {
  const mine = await store.log.claim(shard(id), never);
  const { end } = await store.log.position(shard(id), never);
  const row = logRow([id, end + 1, mine], { takeover: true });
  await commit(store, row);
  return row;
}

/** Rows as words, for comparing. */
export function say(rows: readonly LogRow[]): readonly string[] {
  return rows.map((row) => `${row.seq} by ${row.range}${row.takeover ? ' takeover' : ''}`);
}
