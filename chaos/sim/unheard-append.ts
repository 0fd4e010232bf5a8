/**
 * Lets an append land unheard, and another host take the shard over behind it while its owner still waits: how reads
 * that look past a row in flight come about often enough to be judged (PROTOCOLS 4).
 *
 * Place: between a host's store and the faults of the world. The owner's next seq holds a row of its own, so that only
 * who waits for it can learn of the takeover after it.
 *
 * Invariants
 *  1. The row lands at once; its owner hears nothing until its own deadline, and sends it again then.
 *  2. Only rows of transitions, and only while faults are on.
 */
import type {
  StatementFate,
  StoreFaults,
  StoreStatement,
} from '../../cell/storage/memory/store-faults.ts';
import type { ShardId } from '../../cell/storage/shard-log.ts';
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import type { Faults } from './faults.ts';

const UNHEARD = 0.012;

export class UnheardAppend implements StoreFaults {
  readonly #inner: StoreFaults;
  readonly #faults: Faults;
  readonly #rng: SeededRng;
  readonly #onUnheard: (shard: ShardId) => void;

  constructor(options: {
    /** What becomes of every other statement. */
    readonly inner: StoreFaults;
    readonly faults: Faults;
    readonly rng: SeededRng;
    /** Now is the moment for another host. */
    readonly onUnheard: (shard: ShardId) => void;
  }) {
    this.#inner = options.inner;
    this.#faults = options.faults;
    this.#rng = options.rng;
    this.#onUnheard = options.onUnheard;
  }

  fateOf(statement: StoreStatement): StatementFate {
    const fate = this.#inner.fateOf(statement);
    const [row] = statement.rows;
    if (!row || row.takeover || fate.kind !== 'ok' || !this.#faults.active) return fate;
    if (!this.#rng.chance(UNHEARD)) return fate;
    this.#faults.count('append unheard, then taken over');
    this.#onUnheard(row.shard);
    return { kind: 'lost-reply' };
  }
}
