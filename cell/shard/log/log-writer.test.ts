import { describe, expect, test } from 'vitest';
import { settlePromises, VirtualClock } from '../../../kernel/testing/virtual-clock.ts';
import type {
  Claim,
  AppendOutcome,
  LogRow,
  RangeId,
  Seq,
  SessionId,
  ShardId,
  ShardLog,
  Verdict,
} from '../../storage/shard-log.ts';
import { LogWriter, type AppendSource, type Settlement } from './log-writer.ts';

const COMMITTED: AppendOutcome = { kind: 'committed' };
const UNKNOWN: AppendOutcome = { kind: 'unknown', cause: 'lost' };
const STALE: AppendOutcome = { kind: 'stale-session' };

class Source implements AppendSource {
  readonly shard: ShardId;
  session = 1 as SessionId;
  readonly settled: (readonly [seq: number, kind: Settlement['kind']])[] = [];
  readonly #bytes: number;
  #seq = 0;
  waiting: number;

  constructor(shard: number, rows = 1, bytes = 10) {
    this.shard = shard as ShardId;
    this.waiting = rows;
    this.#bytes = bytes;
  }

  takeRow(): LogRow | undefined {
    if (this.waiting === 0) return undefined;
    this.waiting -= 1;
    this.#seq += 1;
    return {
      shard: this.shard,
      seq: this.#seq as Seq,
      range: 1 as RangeId,
      nonce: new Uint8Array([this.shard, this.#seq]),
      takeover: false,
      record: new Uint8Array(this.#bytes),
    };
  }

  claim(): Claim {
    return { shard: this.shard, range: 1 as RangeId, committed: (this.#seq - 1) as Seq };
  }

  settle(row: LogRow, settlement: Settlement): void {
    this.settled.push([row.seq, settlement.kind]);
  }

  verified(session: SessionId): void {
    this.session = session;
  }
}

type Sent = { readonly rows: readonly LogRow[]; readonly session: SessionId };

function scene(
  outcome: (row: LogRow, statement: number) => AppendOutcome,
  verdict: Verdict = { kind: 'mine' },
) {
  const clock = new VirtualClock();
  const sent: Sent[] = [];
  let verifies = 0;
  const log = {
    append: async (rows: readonly LogRow[], session: SessionId) => {
      sent.push({ rows, session });
      return rows.map((row) => outcome(row, sent.length));
    },
    verify: async () => {
      verifies += 1;
      return { session: 2 as SessionId, verdicts: [verdict] };
    },
  } as unknown as ShardLog;
  const config = {
    appendDeadlineMs: 4_000,
    appendGiveUpMs: 10_000,
    appendStatementBytes: 100,
    statementDeadlineMs: 5_000,
  };
  return { clock, sent, writer: new LogWriter({ log, clock, config }), verifies: () => verifies };
}

describe('gathering', () => {
  test('shards of one parity share a statement in shard order; the other parity has its own', async () => {
    const { writer, sent } = scene(() => COMMITTED);
    for (const shard of [4, 1, 0, 2]) writer.wake(new Source(shard));
    await settlePromises();
    expect(sent.map(({ rows }) => rows.map((row) => row.shard))).toEqual([[0, 2, 4], [1]]);
  });

  test('a row that is too large for the rest of a statement goes in the next one', async () => {
    const { writer, sent } = scene(() => COMMITTED);
    for (const [shard, bytes] of [
      [0, 60],
      [2, 300],
      [4, 60],
    ] as const) {
      writer.wake(new Source(shard, 1, bytes));
    }
    await settlePromises();
    expect(sent.map(({ rows }) => rows.map((row) => row.shard))).toEqual([[0], [2], [4]]);
  });

  test('shards of another session wait for a statement of their own', async () => {
    const { writer, sent } = scene(() => COMMITTED);
    const other = new Source(2);
    other.session = 5 as SessionId;
    for (const source of [new Source(0), other, new Source(4)]) writer.wake(source);
    await settlePromises();
    expect(sent.map(({ session, rows }) => [session, rows.length])).toEqual([
      [1, 2],
      [5, 1],
    ]);
  });
});

describe('unknown outcomes', () => {
  test('the identical row is sent again alone, while the other shards go on', async () => {
    const { writer, sent, clock } = scene((row, n) =>
      row.shard === 0 && n < 3 ? UNKNOWN : COMMITTED,
    );
    const [blocked, busy] = [new Source(0), new Source(2)];
    writer.wake(blocked);
    writer.wake(busy);
    await settlePromises();
    busy.waiting = 1;
    writer.wake(busy);
    await clock.advanceSettled(1_000);
    expect(busy.settled.map(([seq]) => seq)).toEqual([1, 2]);
    const again = sent.flatMap(({ rows }) => rows).filter((row) => row.shard === 0);
    expect(again.length).toBeGreaterThan(1);
    expect(again.every((row) => row === again[0])).toBe(true);
    expect(blocked.settled).toEqual([[1, 'committed']]);
  });

  test('after 10 s the shard gives up, once', async () => {
    const { writer, clock } = scene(() => UNKNOWN);
    const source = new Source(0);
    writer.wake(source);
    await clock.advanceSettled(9_000);
    expect(source.settled).toEqual([]);
    await clock.advanceSettled(60_000);
    expect(source.settled).toEqual([[1, 'gave-up']]);
  });

  test.each([
    [{ kind: 'mine' } as const, 'committed', 2],
    [{ kind: 'hole' } as const, 'hole', 1],
    [{ kind: 'lost', to: 9 as RangeId } as const, 'fenced', 1],
  ])('a stale session is verified first: %o', async (verdict, ending, session) => {
    const { writer, sent, clock } = scene((_, n) => (n === 1 ? STALE : COMMITTED), verdict);
    const source = new Source(0);
    writer.wake(source);
    await clock.advanceSettled(100);
    expect(source.settled).toEqual([[1, ending]]);
    expect(sent.at(-1)?.session).toBe(session);
  });

  test('a session that is always stale costs no hot loop', async () => {
    const { writer, clock, verifies } = scene(() => STALE);
    const source = new Source(0);
    writer.wake(source);
    await clock.advanceSettled(20_000);
    expect(source.settled).toEqual([[1, 'gave-up']]);
    expect(verifies()).toBeLessThan(50);
  });

  test('a store that throws, or never answers, leaves the outcome unknown and the lane free', async () => {
    const clock = new VirtualClock();
    let calls = 0;
    const append = () => {
      calls += 1;
      if (calls === 1) return Promise.reject(new Error('a bug'));
      return calls === 2 ? new Promise(() => {}) : Promise.resolve([COMMITTED]);
    };
    const config = {
      appendDeadlineMs: 4_000,
      appendGiveUpMs: 10_000,
      appendStatementBytes: 100,
      statementDeadlineMs: 5_000,
    };
    const writer = new LogWriter({ log: { append } as unknown as ShardLog, clock, config });
    const source = new Source(0);
    writer.wake(source);
    await clock.advanceSettled(5_000);
    expect(source.settled).toEqual([[1, 'committed']]);
  });
});
