/**
 * Claims, positions, tails and verdicts on PostgreSQL (PROTOCOLS 1, 2, 4). Each is one statement, so one snapshot.
 *
 * Invariants
 *  1. A verdict `mine` was true at some moment after the statement was sent.
 *  2. Pruning never touches a row above the checkpoint, nor one of the last 64 takeovers of a shard, nor a takeover of
 *     the last 30 days: those are the fence.
 */
import { AtollError } from '../../../kernel/errors.ts';
import type {
  Claim,
  LogRow,
  RangeId,
  Seq,
  ShardId,
  ShardPosition,
  Tail,
  Verdict,
} from '../shard-log.ts';
import { int4Array, int8Array } from './binary-array.ts';
import { verdictOn } from '../verdict.ts';
import type { Statement } from './connection.ts';

/** Where one statement runs. */
export type Runner = {
  run<Row>(statement: Statement, signal: AbortSignal): Promise<readonly Row[]>;
};

// Drawn, not counted: two claims from the same range, one of which a promoted standby lacks, must not meet.
const CLAIM = `
  UPDATE shard SET range_id = range_id + 1 + floor(random() * $2::float8)::int8
  WHERE shard_id = $1 RETURNING range_id`;

// Late statements leave stray rows below the checkpoint, and takeovers add up: both are swept when a shard is claimed.
const PRUNE = `
  DELETE FROM shard_log l USING shard s
  WHERE s.shard_id = $1 AND l.shard_id = s.shard_id AND l.seq <= s.deleted_seq
    AND (NOT l.takeover OR (l.stored_at < now() - interval '30 days' AND l.seq < (
      SELECT min(seq) FROM (
        SELECT seq FROM shard_log WHERE shard_id = $1 AND takeover ORDER BY seq DESC LIMIT 64) AS last)))`;

const POSITION = `
  SELECT range_id, checkpoint_seq,
    greatest(checkpoint_seq, coalesce((SELECT max(seq) FROM shard_log WHERE shard_id = $1), 0)) AS end_seq
  FROM shard WHERE shard_id = $1`;

const TAIL = `
  SELECT s.range_id AS owner, s.checkpoint_seq, s.notes, l.seq, l.range_id, l.nonce, l.takeover, l.record
  FROM shard s LEFT JOIN shard_log l ON l.shard_id = s.shard_id AND l.seq > s.checkpoint_seq
  WHERE s.shard_id = $1 ORDER BY l.seq`;

const ROWS_AFTER = `
  SELECT seq, range_id, nonce, takeover, record FROM shard_log
  WHERE shard_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`;

const VERIFY = `
  SELECT (asked.ordinal - 1)::int4 AS index, s.range_id AS owner, s.checkpoint_seq,
    (SELECT range_id FROM shard_log l WHERE l.shard_id = asked.shard_id AND l.seq = asked.committed) AS here,
    (SELECT range_id FROM shard_log l WHERE l.shard_id = asked.shard_id AND l.seq = asked.committed + 1) AS next
  FROM unnest($1::int4[], $2::int8[]) WITH ORDINALITY AS asked(shard_id, committed, ordinal)
  JOIN shard s ON s.shard_id = asked.shard_id`;

/** @param spread how many ranges the next one is drawn from */
export async function claimShard(
  runner: Runner,
  { shard, spread }: { readonly shard: ShardId; readonly spread: number },
  signal: AbortSignal,
): Promise<RangeId> {
  const rows = await runner.run<{ readonly range_id: RangeId }>(
    { name: 'claim', text: CLAIM, values: [shard, spread] },
    signal,
  );
  return (rows[0] ?? notProvisioned(shard)).range_id;
}

export async function pruneShard(
  runner: Runner,
  shard: ShardId,
  signal: AbortSignal,
): Promise<void> {
  await runner.run({ name: 'prune', text: PRUNE, values: [shard] }, signal);
}

export async function readPosition(
  runner: Runner,
  shard: ShardId,
  signal: AbortSignal,
): Promise<ShardPosition> {
  const rows = await runner.run<{
    readonly range_id: RangeId;
    readonly checkpoint_seq: Seq;
    readonly end_seq: Seq;
  }>({ name: 'position', text: POSITION, values: [shard] }, signal);
  const { range_id, checkpoint_seq, end_seq } = rows[0] ?? notProvisioned(shard);
  return { range: range_id, checkpoint: checkpoint_seq, end: end_seq };
}

type LogColumns = {
  readonly seq: Seq;
  readonly range_id: RangeId;
  readonly nonce: string;
  readonly takeover: boolean;
  readonly record: Buffer;
};

/** The columns of the log are null together: a shard without a tail. */
type TailRow = (LogColumns | { readonly seq: null }) & {
  readonly owner: RangeId;
  readonly checkpoint_seq: Seq;
  readonly notes: Buffer | null;
};

export async function readTail(runner: Runner, shard: ShardId, signal: AbortSignal): Promise<Tail> {
  const rows = await runner.run<TailRow>({ name: 'tail', text: TAIL, values: [shard] }, signal);
  const { owner, checkpoint_seq, notes } = rows[0] ?? notProvisioned(shard);
  return {
    range: owner,
    checkpoint: checkpoint_seq,
    rows: rows.flatMap((row) => (row.seq === null ? [] : [logRow(shard, row)])),
    ...(notes === null ? {} : { notes }),
  };
}

/** What a lane that is behind reads again. */
export async function readRowsAfter(
  runner: Runner,
  { shard, after, limit }: { readonly shard: ShardId; readonly after: Seq; readonly limit: number },
  signal: AbortSignal,
): Promise<readonly LogRow[]> {
  const rows = await runner.run<LogColumns>(
    { name: 'rows-after', text: ROWS_AFTER, values: [shard, after, limit] },
    signal,
  );
  return rows.map((row) => logRow(shard, row));
}

function logRow(shard: ShardId, row: LogColumns): LogRow {
  return {
    shard,
    seq: row.seq,
    range: row.range_id,
    nonce: Buffer.from(row.nonce.replaceAll('-', ''), 'hex'),
    takeover: row.takeover,
    record: row.record,
  };
}

type VerifyRow = {
  readonly index: number;
  readonly owner: RangeId;
  readonly checkpoint_seq: Seq;
  readonly here: RangeId | null;
  readonly next: RangeId | null;
};

export async function readVerdicts(
  runner: Runner,
  claims: readonly Claim[],
  signal: AbortSignal,
): Promise<readonly Verdict[]> {
  const rows = await runner.run<VerifyRow>(
    {
      name: 'verify',
      text: VERIFY,
      values: [
        int4Array(claims.map(({ shard }) => shard)),
        int8Array(claims.map(({ committed }) => committed)),
      ],
    },
    signal,
  );
  const found = new Map(rows.map((row) => [row.index, row]));
  return claims.map((claim, index) => {
    const row = found.get(index);
    return row
      ? verdictOn(claim, {
          owner: row.owner,
          checkpoint: row.checkpoint_seq,
          here: row.here ?? undefined,
          next: row.next ?? undefined,
        })
      : { kind: 'hole' };
  });
}

function notProvisioned(shard: ShardId): never {
  throw new AtollError(
    'failed-precondition',
    `the database has no shard ${shard}: provision it with the cell's number of shards`,
  );
}
