/**
 * The log writer of a host (D2, PROTOCOLS 1): takes from each shard the row that gathered while its last append was in
 * flight, sends the rows of many shards in one statement, and settles what became of each.
 *
 * Two lanes a host, by shard parity: one statement in flight per lane, no timer to gather.
 *
 * Invariants
 *  1. Per shard one row is in flight, and a seq is never skipped or reused for other content.
 *  2. An unknown outcome is settled by sending the byte-identical row again, in a statement of its own, so that a blocked
 *     key holds up only its shard; a stale session is verified first, so that nobody goes on over a hole.
 *  3. Every row is settled exactly once: committed, fenced, hole or gave-up.
 *  4. Shards leave in the order in which they came, so that none waits behind a busy one for ever.
 */
import { sleep, type Clock } from '../../../kernel/clock.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type {
  AppendOutcome,
  Claim,
  LogRow,
  RangeId,
  SessionId,
  ShardId,
  ShardLog,
  Verdict,
} from '../../storage/shard-log.ts';
import { bounded } from '../bounded.ts';
import type { ShardConfig } from '../config.ts';

export type Settlement =
  | { readonly kind: 'committed' }
  | { readonly kind: 'fenced'; readonly by: RangeId }
  /** What the shard acknowledged earlier is not in the store: it must stop (PROTOCOLS 1). */
  | { readonly kind: 'hole' }
  /** Unknown for too long: memory past the last committed seq is dropped and the shard takes over from itself. */
  | { readonly kind: 'gave-up'; readonly cause: unknown };

/** A shard as the writer sees it. */
export interface AppendSource {
  readonly shard: ShardId;
  /** The session on which the shard's last committed row was verified. */
  readonly session: SessionId;
  /** The next row, if anything gathered. Called only while none of the shard's rows is in flight. Never throws. */
  takeRow(): LogRow | undefined;
  /** Never throws. */
  settle(row: LogRow, settlement: Settlement): void;
  /** What it believes: to be held against the store after a reconnect. */
  claim(): Claim;
  /** The shard's last row was found in place on this newer session. */
  verified(session: SessionId): void;
}

type Lane = {
  readonly ready: Set<AppendSource>;
  /** A row that was taken and found too large for the statement before: first in the next one. */
  carried: Flight | undefined;
  running: boolean;
};

type WriterConfig = Pick<
  ShardConfig,
  'appendDeadlineMs' | 'appendGiveUpMs' | 'appendStatementBytes' | 'statementDeadlineMs'
>;

export class LogWriter {
  readonly #log: ShardLog;
  readonly #clock: Clock;
  readonly #config: WriterConfig;
  readonly #lanes: readonly [Lane, Lane] = [newLane(), newLane()];

  constructor(options: {
    readonly log: ShardLog;
    readonly clock: Clock;
    readonly config: WriterConfig;
  }) {
    this.#log = options.log;
    this.#clock = options.clock;
    this.#config = options.config;
  }

  /** Says that a shard without a row in flight has something to append. Cheap to repeat. */
  wake(source: AppendSource): void {
    const lane = this.#lanes[source.shard % 2 === 0 ? 0 : 1];
    lane.ready.add(source);
    if (lane.running) return;
    lane.running = true;
    // One turn later, so that everything that the same turn decides travels in one row.
    queueMicrotask(() => void this.#run(lane));
  }

  async #run(lane: Lane): Promise<void> {
    while (lane.ready.size > 0 || lane.carried) {
      const batch = this.#take(lane);
      if (batch.length > 0) await this.#send(batch);
    }
    lane.running = false;
  }

  /** Rows of as many shards as fit, in shard order; all of one session, the others wait for the next statement. */
  #take(lane: Lane): readonly Flight[] {
    const flights = lane.carried ? [lane.carried] : [];
    lane.carried = undefined;
    let bytes = flights[0]?.row.record.length ?? 0;
    for (const source of lane.ready) {
      if (flights[0] && flights[0].source.session !== source.session) continue;
      if (bytes >= this.#config.appendStatementBytes) break;
      lane.ready.delete(source);
      const row = source.takeRow();
      if (!row) continue;
      const flight = { source, row };
      bytes += row.record.length;
      if (flights.length > 0 && bytes > this.#config.appendStatementBytes) {
        lane.carried = flight;
        break;
      }
      flights.push(flight);
    }
    return flights.sort((a, b) => a.row.shard - b.row.shard);
  }

  async #send(batch: readonly Flight[]): Promise<void> {
    const outcomes = await this.#append(batch);
    batch.forEach((flight, i) => {
      const outcome = outcomes[i] ?? { kind: 'unknown', cause: 'the store gave no outcome' };
      if (outcome.kind === 'committed' || outcome.kind === 'fenced') {
        flight.source.settle(flight.row, outcome);
      } else {
        void this.#settleUnknown(flight, outcome);
      }
    });
  }

  /** Never rejects: whatever goes wrong, what became of the rows is unknown then. */
  async #append(batch: readonly Flight[]): Promise<readonly AppendOutcome[]> {
    const session = batch[0]?.source.session;
    invariant(session !== undefined, 'an append of no rows');
    const rows = batch.map((flight) => flight.row);
    try {
      return await bounded(this.#clock, this.#config.appendDeadlineMs, (signal) =>
        this.#log.append(rows, session, signal),
      );
    } catch (cause) {
      return rows.map(() => ({ kind: 'unknown', cause }));
    }
  }

  /** Sends the identical row again until the store answers (invariant 2), or the shard gives up. */
  async #settleUnknown(flight: Flight, first: AppendOutcome): Promise<void> {
    const { source, row } = flight;
    const giveUpAt = this.#clock.monotonicMs() + this.#config.appendGiveUpMs;
    let outcome: AppendOutcome = first;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      if (outcome.kind === 'committed' || outcome.kind === 'fenced') {
        return source.settle(row, outcome);
      }
      if (this.#clock.monotonicMs() >= giveUpAt) {
        return source.settle(row, { kind: 'gave-up', cause: causeOf(outcome) });
      }
      // A first stale session is looked after at once; whatever comes again waits, so that no loop is hot.
      if (outcome.kind === 'unknown' || pause > FIRST_PAUSE_MS) await sleep(this.#clock, pause);
      const verdict = outcome.kind === 'stale-session' ? await this.#verify(flight) : MINE;
      if (verdict?.kind === 'hole') return source.settle(row, { kind: 'hole' });
      if (verdict?.kind === 'lost') return source.settle(row, { kind: 'fenced', by: verdict.to });
      if (verdict) [outcome = outcome] = await this.#append([flight]);
    }
  }

  async #verify({ source }: Flight): Promise<Verdict | undefined> {
    try {
      const { session, verdicts } = await bounded(
        this.#clock,
        this.#config.statementDeadlineMs,
        (signal) => this.#log.verify([source.claim()], signal),
      );
      if (verdicts[0]?.kind === 'mine') source.verified(session);
      return verdicts[0];
    } catch {
      return undefined; // The store is away: the caller tries again until it gives up.
    }
  }
}

type Flight = { readonly source: AppendSource; readonly row: LogRow };

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;
const MINE: Verdict = { kind: 'mine' };

function newLane(): Lane {
  return { ready: new Set(), carried: undefined, running: false };
}

function causeOf(outcome: AppendOutcome): unknown {
  return outcome.kind === 'unknown' ? outcome.cause : outcome.kind;
}
