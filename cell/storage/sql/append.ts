/**
 * `append` on PostgreSQL (PROTOCOLS 1): one statement for many shards, and its conflicts read back.
 *
 * Invariants
 *  1. Only what the server returned, or what was read back with our nonce, is `committed`. Any error is `unknown`.
 *  2. A statement carries at most `MAX_STATEMENT_BYTES` of records, unless it carries one row only.
 *  3. Rows are inserted in shard order, so that two statements never wait for each other.
 */
import type { AppendOutcome, LogRow, RangeId } from '../shard-log.ts';
import { boolArray, byteaArray, int4Array, int8Array, uuidArray } from './binary-array.ts';
import type { Runner } from './ownership.ts';

const MAX_STATEMENT_BYTES = 1 << 20;

const INSERT = `
  INSERT INTO shard_log (shard_id, seq, range_id, nonce, takeover, record)
  SELECT * FROM unnest($1::int4[], $2::int8[], $3::int8[], $4::uuid[], $5::bool[], $6::bytea[])
  ON CONFLICT (shard_id, seq) DO NOTHING
  RETURNING shard_id`;

const READ_BACK = `
  SELECT l.shard_id, l.range_id, l.nonce
  FROM unnest($1::int4[], $2::int8[]) AS asked(shard_id, seq)
  JOIN shard_log l ON l.shard_id = asked.shard_id AND l.seq = asked.seq`;

type Found = { readonly shard_id: number; readonly range_id: RangeId; readonly nonce: string };

/** Appends at most one row a shard; the outcomes are in the order of `rows`. Never rejects. */
export async function appendRows(
  runner: Runner,
  rows: readonly LogRow[],
  signal: AbortSignal,
): Promise<readonly AppendOutcome[]> {
  const outcomes = new Map<number, AppendOutcome>();
  const ordered = rows.toSorted((a, b) => a.shard - b.shard);
  for (const chunk of chunks(ordered)) {
    try {
      await appendChunk(runner, chunk, { signal, outcomes });
    } catch (cause) {
      for (const { shard } of chunk) {
        if (!outcomes.has(shard)) outcomes.set(shard, { kind: 'unknown', cause });
      }
    }
  }
  return rows.map(({ shard }) => outcomes.get(shard) ?? unanswered());
}

function unanswered(): AppendOutcome {
  return {
    kind: 'unknown',
    cause: new Error('the conflicting row was gone when it was read back'),
  };
}

async function appendChunk(
  runner: Runner,
  rows: readonly LogRow[],
  {
    signal,
    outcomes,
  }: { readonly signal: AbortSignal; readonly outcomes: Map<number, AppendOutcome> },
): Promise<void> {
  const inserted = await runner.run<{ readonly shard_id: number }>(
    { name: 'append', text: INSERT, values: insertValues(rows) },
    signal,
  );
  for (const { shard_id } of inserted) outcomes.set(shard_id, { kind: 'committed' });
  const conflicts = rows.filter(({ shard }) => !outcomes.has(shard));
  if (conflicts.length === 0) return;
  const found = await runner.run<Found>(
    {
      name: 'append-read-back',
      text: READ_BACK,
      values: [
        int4Array(conflicts.map(({ shard }) => shard)),
        int8Array(conflicts.map(({ seq }) => seq)),
      ],
    },
    signal,
  );
  const nonces = new Map(conflicts.map(({ shard, nonce }) => [shard as number, hex(nonce)]));
  for (const { shard_id, range_id, nonce } of found) {
    const ours = nonces.get(shard_id) === nonce.replaceAll('-', '');
    outcomes.set(shard_id, ours ? { kind: 'committed' } : { kind: 'fenced', by: range_id });
  }
}

function insertValues(rows: readonly LogRow[]): readonly Buffer[] {
  return [
    int4Array(rows.map(({ shard }) => shard)),
    int8Array(rows.map(({ seq }) => seq)),
    int8Array(rows.map(({ range }) => range)),
    uuidArray(rows.map(({ nonce }) => nonce)),
    boolArray(rows.map(({ takeover }) => takeover)),
    byteaArray(rows.map(({ record }) => record)),
  ];
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

function chunks(rows: readonly LogRow[]): readonly (readonly LogRow[])[] {
  const all: LogRow[][] = [];
  let room = 0;
  for (const row of rows) {
    const last = all.at(-1);
    if (last && row.record.length <= room) {
      last.push(row);
    } else {
      all.push([row]);
      room = MAX_STATEMENT_BYTES;
    }
    room -= row.record.length;
  }
  return all;
}
