/**
 * Takeover of a shard (PROTOCOLS 2): the range id first, then the takeover row at the end of the log, then the tail.
 *
 * Invariants
 *  1. From `claim` on no older checkpoint or truncation can commit.
 *  2. The takeover row lies at end + 1: a fenced owner's next seq meets it, however late it wakes.
 *  3. Another range id than mine in the shard row, at any step: a larger one means lost, stop; a smaller one that a
 *     standby was promoted which lacks my claim: nothing of mine may be stored there, so begin again.
 *  4. The fence goes only to the primary on which my claim was seen: its session is asked for before the look.
 */
import { sleep, type Clock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type { Rng } from '../../../kernel/rng.ts';
import type {
  AppendOutcome,
  LogRow,
  RangeId,
  Seq,
  SessionId,
  ShardId,
  ShardLog,
  Tail,
} from '../../storage/shard-log.ts';
import { bounded } from '../bounded.ts';
import { encodeRecord } from './record-codec.ts';

export type Taken = {
  readonly range: RangeId;
  /** Seq of the takeover row: the last committed one. */
  readonly seq: Seq;
  readonly checkpoint: Seq;
  readonly session: SessionId;
  /** Rows above the checkpoint, in order, the takeover row included. */
  readonly rows: readonly LogRow[];
  /** What the last checkpoint noted. */
  readonly notes?: Uint8Array | undefined;
};

export type Takeover =
  | { readonly kind: 'taken'; readonly taken: Taken }
  | { readonly kind: 'lost'; readonly to: RangeId };

type Options = {
  readonly log: ShardLog;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly shard: ShardId;
  readonly statementDeadlineMs: number;
};

/** Rejects when the store does not answer: nothing is held then, the caller tries again from the start. */
export async function takeOver(options: Options): Promise<Takeover> {
  const { log, shard } = options;
  const ask = <T>(call: (signal: AbortSignal) => Promise<T>) =>
    bounded(options.clock, options.statementDeadlineMs, call);

  const range = await ask((signal) => log.claim(shard, signal));
  for (;;) {
    const { session } = await ask((signal) => log.verify([], signal));
    const position = await ask((signal) => log.position(shard, signal));
    if (position.range !== range) return outranged(options, range, position.range);
    const row: LogRow = {
      shard,
      seq: (position.end + 1) as Seq,
      range,
      nonce: options.rng.bytes(16),
      takeover: true,
      record: encodeRecord([]),
    };
    // Somebody's row landed first, or the session ended: look again (step 2).
    if (!(await isPlaced(options, row, session))) continue;
    const tail = await ask((signal) => log.tail(shard, signal));
    if (tail.range !== range) return outranged(options, range, tail.range);
    assertSound(tail, row);
    return {
      kind: 'taken',
      taken: {
        range,
        seq: row.seq,
        checkpoint: tail.checkpoint,
        session,
        rows: tail.rows,
        notes: tail.notes,
      },
    };
  }
}

const PLACE_TRIES = 20;

/** Appends the takeover row in a statement of its own; an unknown outcome is settled with the identical row. */
async function isPlaced(options: Options, row: LogRow, session: SessionId): Promise<boolean> {
  const { log, clock, statementDeadlineMs } = options;
  let outcome: AppendOutcome | undefined;
  for (let attempt = 0; attempt < PLACE_TRIES; attempt += 1) {
    if (attempt > 0) await sleep(clock, Math.min(10 * 2 ** attempt, 500));
    [outcome] = await bounded(clock, statementDeadlineMs, (signal) =>
      log.append([row], session, signal),
    );
    if (outcome?.kind === 'committed') return true;
    if (outcome?.kind === 'fenced' || outcome?.kind === 'stale-session') return false;
  }
  throw new Error(`the takeover row of shard ${row.shard} stayed unknown`, {
    cause: outcome?.kind === 'unknown' ? outcome.cause : outcome,
  });
}

/** The shard row carries another range than the one that was handed out here. */
function outranged({ shard }: Options, mine: RangeId, found: RangeId): Takeover {
  if (found > mine) return { kind: 'lost', to: found };
  throw notStored(shard, 'claim');
}

function assertSound(tail: Tail, takeover: LogRow): void {
  let expected = tail.checkpoint + 1;
  let range = 0;
  for (const row of tail.rows) {
    invariant(
      row.seq === expected,
      `shard ${row.shard}: seq ${row.seq} where ${expected} was due: a hole in the log`,
    );
    invariant(
      row.range >= range,
      `shard ${row.shard}: range falls from ${range} to ${row.range} at seq ${row.seq}`,
    );
    expected += 1;
    range = row.range;
  }
  const placed = tail.rows.some((row) => row.seq === takeover.seq && row.range === takeover.range);
  if (!placed) throw notStored(takeover.shard, 'takeover row');
}

/** Nothing has been acknowledged on the strength of it: the takeover begins again. */
function notStored(shard: ShardId, what: string): AtollError {
  return new AtollError(
    'unavailable',
    `the ${what} of shard ${shard} is gone: a standby was promoted that lacked it`,
  );
}
