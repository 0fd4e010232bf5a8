/**
 * A shard of this host through its life: taking over, owned, or stopped. It hands out the current ownership and starts
 * the next takeover when an ownership ended with an unknown outcome (PROTOCOLS 1).
 *
 *   taking ──► owned ──► taking   (append unknown for too long: memory is dropped)
 *      │         ├─────► stopped  (lost to another range, hole, broken invariant, closed)
 *      └─────────┘
 */
import { sleep } from '../../kernel/clock.ts';
import { orAbort } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';
import { InvariantError } from '../../kernel/invariant.ts';
import type { RangeId, ShardId, ShardLog, Verdict } from '../storage/shard-log.ts';
import type { ShardViews } from '../storage/views.ts';
import { lookBack, type Acknowledged } from './log/acknowledged.ts';
import type { Ending } from './ending.ts';
import type { HostParts } from './host-parts.ts';
import { decodeNotes } from './log/notes.ts';
import { Ownership } from './ownership.ts';
import { replayTail } from './recovery.ts';
import { Scanner, type ScanCounts } from './work/scanner.ts';
import { takeOver, type Taken } from './log/takeover.ts';
import { ViewReader, type PendingKind } from './views/view-reader.ts';

type Phase =
  | { readonly kind: 'taking'; readonly over: Promise<void>; readonly tell: () => void }
  | {
      readonly kind: 'owned';
      readonly ownership: Ownership;
      readonly scanner: Scanner;
      readonly views: ViewReader;
    }
  | { readonly kind: 'stopped'; readonly why: AtollError };

/** Why a shard stopped for good; `lost` is another host's doing, the others need a person. */
export type Stop = Exclude<Ending, { readonly kind: 'again' | 'closed' }>;

export class ShardOwner {
  readonly shard: ShardId;
  takeovers = 0;
  readonly #parts: HostParts;
  readonly #log: ShardLog;
  readonly #views: ShardViews;
  readonly #onStop: (stop: Stop) => void;
  #phase: Phase = newTaking();
  #closed = false;
  /** What the store acknowledged to the ownership before: it must still be there (PROTOCOLS 1). */
  #acknowledged: Acknowledged | undefined;

  constructor(options: {
    readonly shard: ShardId;
    readonly parts: HostParts;
    readonly log: ShardLog;
    readonly views: ShardViews;
    readonly onStop: (stop: Stop) => void;
  }) {
    this.shard = options.shard;
    this.#parts = options.parts;
    this.#log = options.log;
    this.#views = options.views;
    this.#onStop = options.onStop;
  }

  get current(): Ownership | undefined {
    return this.#phase.kind === 'owned' ? this.#phase.ownership : undefined;
  }

  /** It will not be owned here any more. */
  get isStopped(): boolean {
    return this.#phase.kind === 'stopped';
  }

  get scans(): ScanCounts | undefined {
    return this.#phase.kind === 'owned' ? this.#phase.scanner.counts : undefined;
  }

  /** The ownership, waited for while a takeover is under way. Errors: `unavailable` once the shard has stopped. */
  async owned(signal: AbortSignal): Promise<Ownership> {
    for (;;) {
      const phase = this.#phase;
      if (phase.kind === 'owned') return phase.ownership;
      if (phase.kind === 'stopped') throw phase.why;
      await orAbort(phase.over, signal);
    }
  }

  /** Takes the shard over, trying until it is owned or stopped. Never rejects. */
  async take(): Promise<void> {
    for (let pause = FIRST_PAUSE_MS; !this.#closed; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        return await this.#takeOnce();
      } catch (error) {
        if (isFatal(error)) return this.#stop({ kind: 'broken', cause: error });
        this.#parts.log.warn(
          { err: error, shard: this.shard, pauseMs: pause },
          'a takeover did not end; trying again',
        );
        await sleep(this.#parts.clock, pause);
      }
    }
  }

  /** Ends what is owned, or the takeover under way. */
  close(): void {
    this.#closed = true;
    const before = this.#phase;
    if (before.kind === 'owned') before.ownership.end({ kind: 'closed' });
    if (before.kind !== 'taking') return;
    this.#phase = { kind: 'stopped', why: stopped(this.shard, 'it was closed') };
    before.tell();
  }

  async #takeOnce(): Promise<void> {
    const { clock, rng, config } = this.#parts;
    const { statementDeadlineMs } = config;
    const options = { log: this.#log, clock, rng, shard: this.shard, statementDeadlineMs };
    const takeover = await takeOver(options);
    if (this.#closed) return;
    if (takeover.kind === 'lost') return this.#stop({ kind: 'lost', to: takeover.to });
    const { taken } = takeover;
    const before = this.#acknowledged;
    const verdict = before ? await lookBack(before, { ...options, range: taken.range }) : MINE;
    if (this.#closed) return;
    if (verdict.kind === 'mine') await this.#begin(taken);
    else this.#stop(verdict);
  }

  async #begin(taken: Taken): Promise<void> {
    const { clock, log, config } = this.#parts;
    const { lanes } = decodeNotes(taken.notes);
    const reader: { read: (what: PendingKind) => void } = { read: () => {} };
    const ownership = new Ownership({
      shard: this.shard,
      range: taken.range,
      committed: taken.seq,
      checkpoint: taken.checkpoint,
      session: taken.session,
      parts: this.#parts,
      onEnd: (ending) => this.#ended(ownership, ending),
      onRefill: (what) => reader.read(what),
      onActing: () => this.#drive(ownership),
      notes: taken.notes,
    });
    try {
      await replayTail(ownership, taken.rows);
    } catch (cause) {
      ownership.end({ kind: 'again', cause }); // Nothing of it may act any more.
      throw cause;
    }
    if (this.#closed) return ownership.end({ kind: 'closed' });
    if (ownership.ended) throw ownership.ended;
    const options = { ownership, views: this.#views, clock, log, config };
    const views = new ViewReader(options);
    reader.read = (what) => void views.read(what);
    this.#parts.lanes.opened(this.shard, { saved: lanes, end: taken.seq });
    this.#enter(ownership, new Scanner({ ...options, reader: views }), views);
    log.info(
      { shard: this.shard, range: taken.range, tail: taken.rows.length },
      'shard taken over',
    );
    if (taken.rows.length > 1) this.#parts.dirty();
  }

  #enter(ownership: Ownership, scanner: Scanner, views: ViewReader): void {
    const before = this.#phase;
    this.#phase = { kind: 'owned', ownership, scanner, views };
    this.takeovers += 1;
    if (before.kind === 'taking') before.tell();
    void views.read('tasks');
    void views.read('timers');
    void scanner.run();
  }

  /** A namespace became active here: its pending work is read from the views, and every open run looked at. */
  #drive(ownership: Ownership): void {
    if (this.#phase.kind !== 'owned' || this.#phase.ownership !== ownership) return;
    const { views, scanner } = this.#phase;
    void views.read('tasks');
    void views.read('timers');
    void scanner.once();
  }

  #ended(ownership: Ownership, ending: Ending): void {
    const current = this.#phase.kind === 'owned' && this.#phase.ownership === ownership;
    if (!current) return;
    this.#parts.lanes.closed(this.shard);
    switch (ending.kind) {
      case 'again':
        this.#acknowledged = ownership.log.acknowledged;
        this.#phase = newTaking();
        void this.take();
        return;
      case 'closed':
        this.#phase = {
          kind: 'stopped',
          why: ownership.ended ?? stopped(this.shard, 'it was closed'),
        };
        return;
      case 'lost':
      case 'hole':
      case 'broken':
        return this.#stop(ending);
    }
  }

  #stop(stop: Stop): void {
    const before = this.#phase;
    this.#phase = { kind: 'stopped', why: stopped(this.shard, explain(stop)) };
    if (before.kind === 'taking') before.tell();
    const err = 'cause' in stop ? stop.cause : undefined;
    this.#parts.log.error({ shard: this.shard, stop: stop.kind, err }, explain(stop));
    this.#onStop(stop);
  }
}

const MINE: Verdict = { kind: 'mine' };
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

function newTaking(): Phase {
  let tell = () => {};
  const over = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return { kind: 'taking', over, tell };
}

function stopped(shard: ShardId, why: string): AtollError {
  return new AtollError('unavailable', `shard ${shard} is not served here: ${why}`);
}

function explain(stop: Stop): string {
  switch (stop.kind) {
    case 'lost':
      return `another owner took the shard over with range ${rangeText(stop.to)}`;
    case 'hole':
      return 'the store lacks records that it had acknowledged (was a standby promoted that had not received them?): restore them or drop this shard by hand';
    case 'broken':
      return 'an invariant is broken or a format is unknown; nothing more is written, so that nothing gets worse';
  }
}

function rangeText(range: RangeId): string {
  return String(range);
}

/** What no second try can mend: our own bug, or data of another release. */
function isFatal(error: unknown): boolean {
  return (
    error instanceof InvariantError || (error instanceof AtollError && error.code === 'data-loss')
  );
}
