/**
 * Where a lane stands in one shard of its source (PROTOCOLS 7): a tagged union and its moves. Pure.
 *
 *   behind ──log read──▶ tail ──over budget──▶ copy ──a clean round──▶ tail
 *      └──────log gone, or over budget──────────▲ └──a dirty round──▶ copy
 *
 * Invariants
 *  1. `since` and `after` never pass a row with an entry that the target has not acknowledged.
 *  2. Only tail and behind hold the log; copy never does.
 *  3. A round covers the runs whose rows are newer than `since`, as of `covers`; rows above `covers` are queued while it
 *     runs. If the queue had to be dropped meanwhile the round is dirty, and another one follows from `covers`.
 *  4. `at` is a time before which every change has been acknowledged, ms since 1970; undefined: none is known.
 */
import type { Seq } from '../../cell/storage/shard-log.ts';
import type { EpochMs } from '../../kernel/clock.ts';

export type CopyRound = {
  readonly covers: Seq;
  /** Where the next page begins; undefined: at the start. */
  readonly next?: string | undefined;
  readonly dirty: boolean;
  /** Of a dirty one: the `at` of the one that follows. */
  readonly dirtyAt?: EpochMs | undefined;
};

export type ShardCursor =
  /** Follows the log in memory. */
  | { readonly kind: 'tail' }
  /** Waits for the rows above `after` to be read from the log. */
  | { readonly kind: 'behind'; readonly after: Seq; readonly at?: EpochMs | undefined }
  /** Sends the runs that changed after `since`. */
  | {
      readonly kind: 'copy';
      readonly since: Seq;
      readonly at?: EpochMs | undefined;
      readonly round?: CopyRound | undefined;
    };

/** Whether rows that commit now are queued for this lane. */
export function takesRows(cursor: ShardCursor): boolean {
  if (cursor.kind === 'copy') return cursor.round !== undefined && !cursor.round.dirty;
  return cursor.kind === 'tail';
}

/** The lane gave up its queue, whose oldest row of this shard was above `position` and changed something at `at`. */
export function overBudget(
  cursor: ShardCursor,
  { position, at }: { readonly position: Seq; readonly at?: EpochMs | undefined },
): ShardCursor {
  switch (cursor.kind) {
    case 'tail':
      return { kind: 'copy', since: position, at };
    case 'behind':
      return { kind: 'copy', since: cursor.after, at: cursor.at };
    case 'copy': {
      const { round } = cursor;
      return round && !round.dirty
        ? { ...cursor, round: { ...round, dirty: true, dirtyAt: at } }
        : cursor;
    }
  }
}

/** Begins the next round at the shard's last committed row. */
export function beginRound(cursor: ShardCursor & { kind: 'copy' }, end: Seq): ShardCursor {
  return { ...cursor, round: { covers: end, dirty: false } };
}

/** A page of the round has arrived; `next` = undefined: it was the last. */
export function pageSent(cursor: ShardCursor, next: string | undefined): ShardCursor {
  if (cursor.kind !== 'copy' || cursor.round === undefined) return cursor;
  if (next !== undefined) return { ...cursor, round: { ...cursor.round, next } };
  const { dirty, covers, dirtyAt } = cursor.round;
  return dirty ? { kind: 'copy', since: covers, at: dirtyAt } : { kind: 'tail' };
}
