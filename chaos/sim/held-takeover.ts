/**
 * Holds up a takeover in one of its steps while another host takes the same shard over: how two takeovers in step, and
 * rows that are read late, come about often enough to be judged.
 *
 * Place: between a host's store and the faults of the world. The views are read after the tail, so that a takeover held
 * up there meets views that are newer than the tail that it holds (PROTOCOLS 2.4).
 *
 * Invariants
 *  1. What is held up lands within the deadline of its statement: the takeover goes on as if nothing were.
 *  2. A takeover is held up in one step at most, and only while faults are on.
 */
import type {
  StatementFate,
  StoreFaults,
  StoreStatement,
} from '../../cell/storage/memory/store-faults.ts';
import type { ShardId } from '../../cell/storage/shard-log.ts';
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import type { Faults } from './faults.ts';
import type { WorldTime } from './world-time.ts';

const STEPS = ['claim', 'position', 'tail', 'read'] as const;
type Step = (typeof STEPS)[number];

const HELD = 0.3;
const LEAST_SHARE = 0.2;
const SHARE = 0.7;

export class HeldTakeover implements StoreFaults {
  readonly #faults: Faults;
  readonly #rng: SeededRng;
  readonly #time: WorldTime;
  readonly #deadlineMs: number;
  readonly #onHeld: (shard: ShardId) => void;
  readonly #planned = new Map<ShardId, Step>();
  /** Until when the reads of a shard's views are held up. */
  readonly #viewsHeldUntil = new Map<ShardId, number>();

  constructor(options: {
    readonly faults: Faults;
    readonly rng: SeededRng;
    readonly time: WorldTime;
    /** Of the statements of a takeover. */
    readonly deadlineMs: number;
    /** Now is the moment for another host. */
    readonly onHeld: (shard: ShardId) => void;
  }) {
    this.#faults = options.faults;
    this.#rng = options.rng;
    this.#time = options.time;
    this.#deadlineMs = options.deadlineMs;
    this.#onHeld = options.onHeld;
  }

  fateOf(statement: StoreStatement): StatementFate {
    const fate = this.#faults.fateOf(statement);
    const [shard] = statement.shards;
    if (shard === undefined || fate.kind !== 'ok' || !this.#faults.active) return fate;
    const heldMs = this.#heldMs(statement.kind, shard);
    return heldMs === 0 ? fate : { ...fate, landMs: Math.max(heldMs, fate.landMs ?? 0) };
  }

  #heldMs(kind: StoreStatement['kind'], shard: ShardId): number {
    if (kind === 'claim' && this.#rng.chance(HELD)) this.#planned.set(shard, this.#rng.pick(STEPS));
    if (kind === 'read') {
      return Math.max(0, (this.#viewsHeldUntil.get(shard) ?? 0) - this.#time.monotonicMs());
    }
    const step = this.#planned.get(shard);
    if (kind === 'tail' && step === 'read') {
      this.#viewsHeldUntil.set(shard, this.#time.monotonicMs() + this.#hold(shard));
      return 0;
    }
    return kind === step ? this.#hold(shard) : 0;
  }

  #hold(shard: ShardId): number {
    this.#planned.delete(shard);
    this.#faults.count('takeover held up');
    this.#onHeld(shard);
    return this.#deadlineMs * (LEAST_SHARE + SHARE * this.#rng.fraction());
  }
}
