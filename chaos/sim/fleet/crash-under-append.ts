/**
 * Lets a process die right after it sent an append that never lands: whatever it told anybody of that append was too early
 * (PROTOCOLS 1, 7).
 *
 * Place: between a cell's store and the faults of the world; the director arms it.
 *
 * Invariants
 *  1. Only rows of transitions, and only while faults are on. Armed once, it strikes once.
 */
import type {
  StatementFate,
  StoreFaults,
  StoreStatement,
} from '../../../cell/storage/memory/store-faults.ts';
import type { Faults } from '../faults.ts';

export class CrashUnderAppend implements StoreFaults {
  readonly #inner: Faults;
  #strike: (() => void) | undefined;

  constructor(inner: Faults) {
    this.#inner = inner;
  }

  /** `strike` is called when the next append is sent. */
  arm(strike: () => void): void {
    this.#strike = strike;
  }

  fateOf(statement: StoreStatement): StatementFate {
    const fate = this.#inner.fateOf(statement);
    const [row] = statement.rows;
    const strike = this.#strike;
    if (!row || row.takeover || !strike || !this.#inner.active) return fate;
    this.#strike = undefined;
    strike();
    return { kind: 'lost' };
  }
}
