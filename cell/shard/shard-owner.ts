/**
 * A shard of this host through its life: taking over, owned, or stopped. It hands out the current ownership and starts
 * the next takeover when an ownership ended with an unknown outcome (PROTOCOLS 1).
 *
 *   taking ──► owned ──► taking   (append unknown for too long: memory is dropped)
 *      │         ├─────► stopped  (lost to another range, hole, broken invariant, closed)
 *      └─────────┘
 */
import { sleep } from '../../kernel/clock.ts';
import { AtollError } from '../../kernel/errors.ts';
import { InvariantError } from '../../kernel/invariant.ts';
import type { RangeId, ShardId, ShardLog } from '../storage/shard-log.ts';
import type { ShardViews } from '../storage/views.ts';
import { orAborted } from './bounded.ts';
import { Ownership, type Ending, type HostParts } from './ownership.ts';
import { replayTail, ViewReader } from './recovery.ts';
import { Scanner, type ScanCounts } from './scanner.ts';
import { takeOver, type Taken } from './takeover.ts';

type Phase =
  | { readonly kind: 'taking'; readonly over: Promise<void>; readonly tell: () => void }
  | { readonly kind: 'owned'; readonly ownership: Ownership; readonly scanner: Scanner }
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

  get scans(): ScanCounts | undefined {
    return this.#phase.kind === 'owned' ? this.#phase.scanner.counts : undefined;
  }

  /** The ownership, waited for while a takeover is under way. Errors: `unavailable` once the shard has stopped. */
  async owned(signal: AbortSignal): Promise<Ownership> {
    for (;;) {
      const phase = this.#phase;
      if (phase.kind === 'owned') return phase.ownership;
      if (phase.kind === 'stopped') throw phase.why;
      await orAborted(phase.over, signal);
    }
  }

  /** Takes the shard over, trying until it is owned or stopped. */
  async take(): Promise<void> {
    for (let pause = 50; !this.#closed; pause = Math.min(pause * 2, 2_000)) {
      try {
        const { clock, rng, config } = this.#parts;
        const { statementDeadlineMs } = config;
        const takeover = await takeOver({
          log: this.#log,
          clock,
          rng,
          shard: this.shard,
          statementDeadlineMs,
        });
        if (takeover.kind === 'lost') return this.#stop({ kind: 'lost', to: takeover.to });
        return await this.#begin(takeover.taken);
      } catch (error) {
        if (isFatal(error)) return this.#stop({ kind: 'broken', cause: error });
        this.#parts.log.warn(
          { err: error, shard: this.shard },
          'a takeover did not end; trying again',
        );
        await sleep(this.#parts.clock, pause);
      }
    }
  }

  close(): void {
    this.#closed = true;
    this.current?.end({ kind: 'closed' });
  }

  async #begin(taken: Taken): Promise<void> {
    const { clock, log, config } = this.#parts;
    const reader: { read: (what: 'timers' | 'tasks') => void } = { read: () => {} };
    const ownership = new Ownership({
      shard: this.shard,
      range: taken.range,
      committed: taken.seq,
      checkpoint: taken.checkpoint,
      session: taken.session,
      parts: this.#parts,
      onEnd: (ending) => this.#ended(ownership, ending),
      onRefill: (what) => reader.read(what),
    });
    await replayTail(ownership, taken.rows);
    if (ownership.ended) throw ownership.ended;
    const options = { ownership, views: this.#views, clock, log, config };
    const views = new ViewReader(options);
    reader.read = (what) => void views.read(what);
    const scanner = new Scanner(options);
    const before = this.#phase;
    this.#phase = { kind: 'owned', ownership, scanner };
    this.takeovers += 1;
    if (before.kind === 'taking') before.tell();
    log.info(
      { shard: this.shard, range: taken.range, tail: taken.rows.length },
      'shard taken over',
    );
    if (taken.rows.length > 1) this.#parts.dirty();
    void Promise.all([views.read('tasks'), views.read('timers')]).then(() => scanner.run());
  }

  #ended(ownership: Ownership, ending: Ending): void {
    const current = this.#phase.kind === 'owned' && this.#phase.ownership === ownership;
    if (!current) return;
    switch (ending.kind) {
      case 'again':
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
