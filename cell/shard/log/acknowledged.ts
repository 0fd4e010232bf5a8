/**
 * Whether a shard's log still holds what the store acknowledged to an ended ownership of this process (PROTOCOLS 1):
 * asked by a shard that took over from itself, behind its new takeover row.
 *
 * Where the log ends says too little: on a promoted standby others may have taken over below the acknowledged seq, have
 * grown the log past it since, and have cut the place off with a checkpoint. What nobody cuts off are takeover rows:
 * whoever wrote there in between left one, or another row than its takeover row where the ownership began.
 *
 * Invariant: `mine` means that each seq which was acknowledged to the ownership holds its row, or is below a checkpoint
 * that read it.
 */
import type { Clock } from '../../../kernel/clock.ts';
import type { LogRow, RangeId, Seq, ShardId, ShardLog, Verdict } from '../../storage/shard-log.ts';
import { bounded } from '../bounded.ts';

/** The rows of one ownership that the store acknowledged. */
export type Acknowledged = {
  readonly shard: ShardId;
  readonly range: RangeId;
  /** Its takeover row. */
  readonly from: Seq;
  readonly to: Seq;
};

type Options = {
  readonly log: ShardLog;
  readonly clock: Clock;
  readonly statementDeadlineMs: number;
  /** Of the takeover row behind which this is asked: who finds that in the old place found a hole. */
  readonly range: RangeId;
};

/** Rows a statement: below the checkpoint those alone are left that a lane still needs. */
const PAGE_ROWS = 100;

/** Says of an ownership what the store would have said to it (verdict.ts). Rejects when the store does not answer. */
export async function lookBack(acknowledged: Acknowledged, options: Options): Promise<Verdict> {
  const { shard, range, from, to } = acknowledged;
  for (let after = (from - 1) as Seq; ;) {
    const page = { after, limit: PAGE_ROWS };
    const rows = await bounded(options.clock, options.statementDeadlineMs, (signal) =>
      options.log.rowsAfter(shard, page, signal),
    );
    if (after < from && rows[0]?.seq !== from) return { kind: 'hole' };
    const old = rows.filter(({ seq }) => seq <= to);
    const stranger = old.find((row) => row.range !== range);
    if (stranger) return verdictOver(stranger, range, options);
    const last = old.at(-1);
    if (!last || old.length < PAGE_ROWS) return { kind: 'mine' };
    after = last.seq;
  }
}

function verdictOver(stranger: LogRow, range: RangeId, taken: Pick<Options, 'range'>): Verdict {
  const isSuccessor = stranger.range > range && stranger.range !== taken.range;
  return isSuccessor ? { kind: 'lost', to: stranger.range } : { kind: 'hole' };
}
