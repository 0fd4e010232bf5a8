/**
 * `append` on YugabyteDB (D2, PROTOCOLS 1): per shard one prepared autocommit INSERT with nothing else in it, which is
 * its single-row fast path: one Raft round and no distributed transaction.
 *
 * Invariants
 *  1. Only a statement that succeeded, or a row read back with our nonce, is `committed`. A taken key is read back; any
 *     other error is `unknown`: 40001 and 40P01 where READ COMMITTED is silently snapshot, 57014, a lost connection.
 *  2. At most `LANES` statements of one call are on their way (P11).
 *  3. A row never waits for another one's key for longer than a lane is free.
 */
import type { AppendOutcome, LogRow, RangeId } from '../../shard-log.ts';
import { causeCodeOf } from '../connection-errors.ts';
import type { Runner } from '../ownership.ts';

const LANES = 8;
const TAKEN = '23505';

const INSERT = `
  INSERT INTO shard_log (shard_id, seq, range_id, nonce, takeover, record)
  VALUES ($1, $2, $3, $4, $5, $6)`;

const READ_BACK = 'SELECT range_id, nonce FROM shard_log WHERE shard_id = $1 AND seq = $2';

/** Appends at most one row a shard; the outcomes are in the order of `rows`. Never rejects. */
export async function appendEach(
  runner: Runner,
  rows: readonly LogRow[],
  signal: AbortSignal,
): Promise<readonly AppendOutcome[]> {
  const outcomes: AppendOutcome[] = [];
  const left = rows.entries();
  const lane = async () => {
    // All lanes take from the one iterator.
    for (const [index, row] of left) outcomes[index] = await appendOne(runner, row, signal);
  };
  await Promise.all(Array.from({ length: Math.min(LANES, rows.length) }, lane));
  return outcomes;
}

async function appendOne(runner: Runner, row: LogRow, signal: AbortSignal): Promise<AppendOutcome> {
  const { shard, seq, range, nonce, takeover, record } = row;
  try {
    const values = [shard, seq, range, bufferOf(nonce), takeover, bufferOf(record)];
    await runner.run({ name: 'append-one', text: INSERT, values }, signal);
    return { kind: 'committed' };
  } catch (cause) {
    if (causeCodeOf(cause) !== TAKEN) return { kind: 'unknown', cause };
  }
  return readBack(runner, row, signal);
}

async function readBack(runner: Runner, row: LogRow, signal: AbortSignal): Promise<AppendOutcome> {
  try {
    const [found] = await runner.run<{ readonly range_id: RangeId; readonly nonce: string }>(
      { name: 'append-one-read-back', text: READ_BACK, values: [row.shard, row.seq] },
      signal,
    );
    if (!found) throw new Error('the row that held the key was gone when it was read back');
    const ours = found.nonce.replaceAll('-', '') === bufferOf(row.nonce).toString('hex');
    return ours ? { kind: 'committed' } : { kind: 'fenced', by: found.range_id };
  } catch (cause) {
    return { kind: 'unknown', cause };
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
