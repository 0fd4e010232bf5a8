/**
 * The log of an owned shard, as its ownership writes it: what gathers, the row in flight, the last committed seq, and the
 * proof that all of it is still ours (D2, PROTOCOLS 1, 4).
 *
 * Invariants
 *  1. One row in flight; its seq is the last committed one + 1.
 *  2. A proof of ownership begins after it was asked for, and never looks past a row in flight: if that row has landed
 *     unheard, it hides a takeover behind it. So the row in flight is waited for first.
 *  3. Once ended, nothing is taken, and everybody waiting is told.
 *  4. At most `gatherLimit` steps gather, `tailRecordLimit` records lie above the checkpoint, and `tailWaiterLimit`
 *     callers wait for room (P11).
 */
import { AtollError } from '../../../kernel/errors.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type { Rng } from '../../../kernel/rng.ts';
import type {
  Claim,
  LogRow,
  RangeId,
  Seq,
  SessionId,
  ShardId,
  Verdict,
} from '../../storage/shard-log.ts';
import type { Acknowledged } from './acknowledged.ts';
import type { ShardConfig } from '../config.ts';
import { describeEnding, type Ending } from '../ending.ts';
import { Gather, type Batch, type Decided } from './gather.ts';
import type { AppendSource, LogWriter, Settlement } from './log-writer.ts';
import type { Provable, ReadBarrier } from './read-barrier.ts';
import { encodeRecord } from './record-codec.ts';
import { RoomWaiters } from './room-waiters.ts';

/** What the owned log tells its ownership. */
export type LogEvents = {
  /** A row is durable; called before the batch's own waiters hear of it. */
  committed(batch: Batch, seq: Seq): void;
  ended(ending: Ending): void;
};

export type OwnedLogOptions = {
  readonly shard: ShardId;
  readonly range: RangeId;
  readonly committed: Seq;
  readonly checkpoint: Seq;
  readonly session: SessionId;
  readonly rng: Rng;
  readonly config: ShardConfig;
  readonly writer: LogWriter;
  readonly barrier: ReadBarrier;
};

type InFlight = { readonly row: LogRow; readonly batch: Batch };

export class OwnedLog implements AppendSource, Provable {
  readonly shard: ShardId;
  readonly range: RangeId;
  readonly #options: OwnedLogOptions;
  readonly #events: LogEvents;
  readonly #gather: Gather;
  readonly #room: RoomWaiters;
  #session: SessionId;
  #committed: Seq;
  #checkpoint: Seq;
  #inFlight: InFlight | undefined;
  #ended: AtollError | undefined;

  constructor(options: OwnedLogOptions, events: LogEvents) {
    const { config } = options;
    this.shard = options.shard;
    this.range = options.range;
    this.#options = options;
    this.#events = events;
    this.#session = options.session;
    this.#committed = options.committed;
    this.#checkpoint = options.checkpoint;
    this.#gather = new Gather(config.gatherLimit, config.appendStatementBytes);
    this.#room = new RoomWaiters(config.tailWaiterLimit);
  }

  get session(): SessionId {
    return this.#session;
  }

  get committed(): Seq {
    return this.#committed;
  }

  get checkpoint(): Seq {
    return this.#checkpoint;
  }

  /** Why nothing goes on here any more; undefined while it does. */
  get ended(): AtollError | undefined {
    return this.#ended;
  }

  assertOwned(): void {
    if (this.#ended) throw this.#ended;
  }

  /** Waits for room in the tail, or refuses: the bounds in front of the log. */
  async admit(signal: AbortSignal): Promise<void> {
    this.assertRoom();
    while (this.#committed - this.#checkpoint >= this.#options.config.tailRecordLimit) {
      await this.#room.wait(this.shard, signal);
      this.assertOwned();
    }
  }

  /** Refuses while too much gathers; asked again right before a decision, since many may have waited together. */
  assertRoom(): void {
    this.assertOwned();
    if (!this.#gather.full) return;
    throw shardFull(this.shard, `gatherLimit ${this.#options.config.gatherLimit}`);
  }

  append(decided: Decided): Batch {
    this.assertOwned();
    const batch = this.#gather.add(decided);
    if (!this.#inFlight) this.#options.writer.wake(this);
    return batch;
  }

  /** Proof of ownership that begins now. Errors: `unavailable`. */
  async prove(): Promise<void> {
    this.assertOwned();
    // A batch whose append has not begun proves as much as a look would, and costs nothing.
    const ahead = this.#gather.next;
    if (ahead) return ahead.committed;
    if (this.#inFlight) {
      await this.#inFlight.batch.committed;
      // What is on its way now was decided after this proof was asked for.
      const since = this.#inFlight?.batch ?? this.#gather.next;
      if (since) return since.committed;
    }
    await this.#options.barrier.prove(this);
    this.assertOwned();
  }

  /** Resolves once all that was decided until now is durable. */
  async flushed(): Promise<void> {
    await (this.#gather.last ?? this.#inFlight?.batch)?.committed;
  }

  takeRow(): LogRow | undefined {
    if (this.#ended || this.#inFlight) return undefined;
    const batch = this.#gather.take();
    if (!batch) return undefined;
    try {
      const row: LogRow = {
        shard: this.shard,
        seq: (this.#committed + 1) as Seq,
        range: this.range,
        nonce: this.#options.rng.bytes(16),
        takeover: false,
        record: encodeRecord(batch.steps, batch),
      };
      this.#inFlight = { row, batch };
      return row;
    } catch (cause) {
      this.end({ kind: 'broken', cause });
      batch.abandon(this.#ended ?? unowned());
      return undefined;
    }
  }

  /** What became of the row in flight. A bug of ours that shows here stops the shard, not the process. */
  settle(row: LogRow, settlement: Settlement): void {
    if (this.#ended) return;
    switch (settlement.kind) {
      case 'committed':
        try {
          return this.#commit(row);
        } catch (cause) {
          return this.end({ kind: 'broken', cause });
        }
      case 'fenced':
        return this.end({ kind: 'lost', to: settlement.by });
      case 'hole':
        return this.end({ kind: 'hole' });
      case 'gave-up':
        return this.end({ kind: 'again', cause: settlement.cause });
    }
  }

  claim(): Claim {
    const { shard, range } = this;
    return { shard, range, committed: this.#committed, checkpoint: this.#checkpoint };
  }

  /** What a later ownership of this process must find (PROTOCOLS 1). */
  get acknowledged(): Acknowledged {
    const { shard, range } = this;
    return { shard, range, from: this.#options.committed, to: this.#committed };
  }

  /** Sessions grow; an answer that comes late must not bring an older one back. */
  verified(session: SessionId): void {
    if (session > this.#session) this.#session = session;
  }

  disproved(verdict: Exclude<Verdict, { kind: 'mine' }>): AtollError {
    this.end(verdict.kind === 'lost' ? { kind: 'lost', to: verdict.to } : { kind: 'hole' });
    return this.#ended ?? unowned();
  }

  checkpointed(to: Seq): void {
    invariant(
      to >= this.#checkpoint && to <= this.#committed,
      `checkpoint of ${this.shard} at ${to}`,
    );
    this.#checkpoint = to;
    if (this.#committed - to < this.#options.config.tailRecordLimit) this.#room.wake();
  }

  /** Ends it: nothing is decided or appended any more, everybody waiting is told (invariant 3). */
  end(ending: Ending): void {
    if (this.#ended) return;
    const cause = 'cause' in ending ? ending.cause : undefined;
    this.#ended = new AtollError('unavailable', describeEnding(this.shard, ending), { cause });
    this.#inFlight?.batch.abandon(this.#ended);
    this.#gather.abandon(this.#ended);
    this.#room.wake();
    this.#events.ended(ending);
  }

  #commit(row: LogRow): void {
    const flight = this.#inFlight;
    invariant(flight?.row === row, `shard ${this.shard}: a row was settled that is not in flight`);
    this.#committed = row.seq;
    this.#events.committed(flight.batch, row.seq);
    this.#inFlight = undefined;
    flight.batch.commit();
    if (this.#gather.next) this.#options.writer.wake(this);
  }
}

function unowned(): AtollError {
  return new AtollError('unavailable', 'the shard is not owned here any more');
}

function shardFull(shard: ShardId, bound: string): AtollError {
  return new AtollError(
    'resource-exhausted',
    `shard ${shard} is at its bound ${bound}: try again in a moment, or add cells`,
  );
}
