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
 */
import { invariant } from '../../kernel/invariant.ts';
import { sleep, type Clock } from '../../kernel/clock.ts';
import type {
  AppendOutcome,
  LogRow,
  RangeId,
  SessionId,
  ShardId,
  ShardLog,
  Verdict,
} from '../storage/shard-log.ts';
import type { ShardConfig } from './config.ts';
import { bounded } from './bounded.ts';

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
  /** The next row, if anything gathered. Called only while none of the shard's rows is in flight. */
  takeRow(): LogRow | undefined;
  settle(row: LogRow, settlement: Settlement): void;
  /** The shard's last row was found in place on this newer session. */
  verified(session: SessionId): void;
}

type Lane = { readonly ready: Set<AppendSource>; running: boolean };

export class LogWriter {
  readonly #log: ShardLog;
  readonly #clock: Clock;
  readonly #config: ShardConfig;
  readonly #lanes: readonly [Lane, Lane] = [newLane(), newLane()];

  constructor(options: {
    readonly log: ShardLog;
    readonly clock: Clock;
    readonly config: ShardConfig;
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
    while (lane.ready.size > 0) {
      const batch = this.#take(lane);
      if (batch.length > 0) await this.#send(batch);
    }
    lane.running = false;
  }

  /** Rows of as many shards as fit, in shard order; all of one session, the others wait for the next statement. */
  #take(lane: Lane): Flight[] {
    const flights: Flight[] = [];
    let bytes = 0;
    for (const source of [...lane.ready].sort((a, b) => a.shard - b.shard)) {
      if (flights[0] && flights[0].source.session !== source.session) continue;
      if (bytes >= this.#config.appendStatementBytes) break;
      lane.ready.delete(source);
      const row = source.takeRow();
      if (!row) continue;
      invariant(
        row.shard === source.shard,
        `shard ${source.shard} handed out a row of ${row.shard}`,
      );
      flights.push({ source, row });
      bytes += row.record.length;
    }
    return flights;
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

  #append(batch: readonly Flight[]): Promise<readonly AppendOutcome[]> {
    const session = batch[0]?.source.session;
    invariant(session !== undefined, 'an append of no rows');
    return bounded(this.#clock, this.#config.appendDeadlineMs, (signal) =>
      this.#log.append(
        batch.map((flight) => flight.row),
        session,
        signal,
      ),
    );
  }

  /** Sends the identical row again until the store answers (invariant 2), or the shard gives up. */
  async #settleUnknown(flight: Flight, first: AppendOutcome): Promise<void> {
    const giveUpAt = this.#clock.monotonicMs() + this.#config.appendGiveUpMs;
    let outcome: AppendOutcome = first;
    for (let pause = 10; ; pause = Math.min(pause * 2, 500)) {
      if (outcome.kind === 'committed' || outcome.kind === 'fenced') {
        return flight.source.settle(flight.row, outcome);
      }
      if (this.#clock.monotonicMs() >= giveUpAt) {
        return flight.source.settle(flight.row, { kind: 'gave-up', cause: causeOf(outcome) });
      }
      if (outcome.kind === 'unknown') await sleep(this.#clock, pause);
      else {
        const verdict = await this.#verify(flight);
        if (verdict?.kind === 'hole') return flight.source.settle(flight.row, { kind: 'hole' });
        if (verdict?.kind === 'lost') {
          return flight.source.settle(flight.row, { kind: 'fenced', by: verdict.to });
        }
        if (!verdict) await sleep(this.#clock, pause);
      }
      [outcome = outcome] = await this.#append([flight]);
    }
  }

  async #verify({ source, row }: Flight): Promise<Verdict | undefined> {
    const committed = (row.seq - 1) as LogRow['seq'];
    try {
      const { session, verdicts } = await bounded(
        this.#clock,
        this.#config.statementDeadlineMs,
        (signal) => this.#log.verify([{ shard: row.shard, range: row.range, committed }], signal),
      );
      if (verdicts[0]?.kind === 'mine') source.verified(session);
      return verdicts[0];
    } catch {
      return undefined; // The store is away: the caller tries again until it gives up.
    }
  }
}

type Flight = { readonly source: AppendSource; readonly row: LogRow };

function newLane(): Lane {
  return { ready: new Set(), running: false };
}

function causeOf(outcome: AppendOutcome): unknown {
  return outcome.kind === 'unknown' ? outcome.cause : outcome.kind;
}
