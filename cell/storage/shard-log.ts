/**
 * The port to a shard's durable log and checkpoint (D2, D3; PROTOCOLS 1-4): the only way in which an owner's
 * decisions become durable. A PostgreSQL and a memory adapter; one conformance suite (conformance/).
 *
 * The port promises
 *  1. `(shard, seq)` is unique for ever while its takeover rows last: the fence (P2).
 *  2. Only `committed` means durable. `unknown` is settled by sending the identical row again, never by assuming (P1).
 *  3. No method holds a transaction open while it waits for its caller.
 *  4. A session is one unbroken acquaintance with one primary. After any reconnect the session is another one, and an
 *     append that names the old one is not sent (`stale-session`): the owner must `verify` first, so that it never
 *     goes on over a hole that a promoted standby left (PROTOCOLS 1).
 *  5. No range is handed out twice, not even where a promoted standby lacks that it was: claims draw it above the old
 *     one, among so many that two which begin at the same one do not meet.
 */
import type { RangeId, Seq, SessionId, ShardId } from './ids.ts';
import type { ViewBatch } from './views.ts';

export type { RangeId, Seq, SessionId, ShardId };

export type LogRow = {
  readonly shard: ShardId;
  readonly seq: Seq;
  readonly range: RangeId;
  /** 16 random bytes that tell our row from a stranger's when an outcome is unknown. */
  readonly nonce: Uint8Array;
  readonly takeover: boolean;
  /** An encoded batch of transitions; its first byte is the format version (D17). */
  readonly record: Uint8Array;
};

export type AppendOutcome =
  | { readonly kind: 'committed' }
  | { readonly kind: 'fenced'; readonly by: RangeId }
  | { readonly kind: 'unknown'; readonly cause: unknown }
  | { readonly kind: 'stale-session' };

/** What an owner believes of its shard: to be held against the store. */
export type Claim = {
  readonly shard: ShardId;
  readonly range: RangeId;
  /** The last seq that the store acknowledged to this owner. */
  readonly committed: Seq;
  /** The last checkpoint that it acknowledged: a standby may lack that too, and serve older views. Absent: unknown. */
  readonly checkpoint?: Seq | undefined;
};

/**
 * `mine`: the row at committed + 1 is absent or carries my range, and the committed row is there (or below the checkpoint).
 * `lost`: the next row carries another range. `hole`: what was acknowledged is missing: stop the shard and say so.
 */
export type Verdict =
  | { readonly kind: 'mine' }
  | { readonly kind: 'lost'; readonly to: RangeId }
  | { readonly kind: 'hole' };

export type ShardPosition = {
  readonly range: RangeId;
  readonly checkpoint: Seq;
  /** max(checkpoint, largest seq in the log). */
  readonly end: Seq;
};

export type Tail = {
  readonly range: RangeId;
  readonly checkpoint: Seq;
  /** All rows above the checkpoint, by seq. */
  readonly rows: readonly LogRow[];
  /** The notes of the last checkpoint that had some. */
  readonly notes?: Uint8Array | undefined;
};

export type Checkpoint = {
  readonly shard: ShardId;
  readonly range: RangeId;
  readonly from: Seq;
  readonly to: Seq;
  /** The log is deleted up to here (inclusive, takeover rows excepted): at most `to`, less while a lane needs it. */
  readonly deleteTo: Seq;
  readonly views: ViewBatch;
  /** What the shard remembers beside its views (marks of namespaces, positions of lanes); absent: as it was. */
  readonly notes?: Uint8Array | undefined;
};

export interface ShardLog {
  /**
   * Appends at most one row a shard. Outcomes are in the order of `rows`; some shards may commit while others are fenced.
   * Never rejects: a failure of any kind, the deadline of `signal` included, is `unknown`.
   */
  append(
    rows: readonly LogRow[],
    session: SessionId,
    signal: AbortSignal,
  ): Promise<readonly AppendOutcome[]>;

  /** The read barrier (P13) and the check after a reconnect: one statement for all claims, on the session it returns. */
  verify(
    claims: readonly Claim[],
    signal: AbortSignal,
  ): Promise<{ readonly session: SessionId; readonly verdicts: readonly Verdict[] }>;

  /** Takeover, step 1: raises the shard's range (promise 5) and returns it. From here no older checkpoint commits. */
  claim(shard: ShardId, signal: AbortSignal): Promise<RangeId>;

  /** Takeover, step 2 (and what became of a checkpoint): range, checkpoint and last position, in one snapshot. */
  position(shard: ShardId, signal: AbortSignal): Promise<ShardPosition>;

  /** Takeover, step 3: checkpoint, range and all rows above the checkpoint, in one snapshot, ordered by seq. */
  tail(shard: ShardId, signal: AbortSignal): Promise<Tail>;

  /** Rows after a seq that are still there, at or below the checkpoint too, by seq: what a lane reads that is behind. */
  rowsAfter(
    shard: ShardId,
    page: { readonly after: Seq; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly LogRow[]>;

  /**
   * Moves checkpoints under compare (old checkpoint, range, and that the row at `to` carries my range: a promoted
   * standby may lack it and hold another owner's there) and writes their views in the same statement; returns the
   * shards that moved. A rejection is *unknown*: read `position` back.
   */
  checkpoint(batch: readonly Checkpoint[], signal: AbortSignal): Promise<readonly ShardId[]>;
}
