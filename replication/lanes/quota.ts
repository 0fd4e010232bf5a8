/**
 * A lane's share of a second (P10): a bucket that fills at a steady rate and holds one second's worth.
 *
 * Invariants
 *  1. Over any span t the lane spends at most (t + 1 s) × rate, and one push beyond.
 *  2. A debt is paid before the next push: what a large image took is not given twice.
 */
export class Quota {
  readonly #perSecond: number;
  #level: number;
  #atMs: number;

  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#level = perSecond;
    this.#atMs = nowMs;
  }

  /** Whole units that may be spent now, 0 when none. */
  available(nowMs: number): number {
    this.#fill(nowMs);
    return Math.max(0, Math.floor(this.#level));
  }

  spend(units: number, nowMs: number): void {
    this.#fill(nowMs);
    this.#level -= units;
  }

  /** How long until a push is worth while again: 0 while units are left, else until a twentieth of a second's are. */
  waitMs(nowMs: number): number {
    this.#fill(nowMs);
    if (this.#level >= 1) return 0;
    const wanted = Math.max(1, this.#perSecond / 20);
    return Math.ceil(((wanted - this.#level) * 1000) / this.#perSecond);
  }

  #fill(nowMs: number): void {
    const passed = Math.max(0, nowMs - this.#atMs);
    this.#level = Math.min(this.#perSecond, this.#level + (passed * this.#perSecond) / 1000);
    this.#atMs = nowMs;
  }
}
