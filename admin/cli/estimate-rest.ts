/**
 * How long a copy will still take, from what was seen of it: nothing is said before there are two looks and progress
 * between them, since a guess from nothing would be a lie.
 */
export type Look = { readonly atMs: number; readonly left: number };

const MAX_LOOKS = 30;

export class RestEstimate {
  #looks: readonly Look[] = [];

  /** Adds a look; the oldest of many leave, so that the rate is the recent one. */
  see(look: Look): void {
    this.#looks = [...this.#looks, look].slice(-MAX_LOOKS);
  }

  /** ms until nothing is left; undefined: cannot be told. */
  restMs(): number | undefined {
    const [first, last] = [this.#looks[0], this.#looks.at(-1)];
    if (first === undefined || last === undefined) return undefined;
    const done = first.left - last.left;
    const tookMs = last.atMs - first.atMs;
    return done > 0 && tookMs > 0 ? (last.left / done) * tookMs : undefined;
  }
}
