/** A bounded cache that forgets the least recently used entries that may be forgotten; pinned ones come on top (P11). */

export class PinnedLru<Value extends { readonly evictable: boolean }> {
  readonly #limit: number;
  readonly #entries = new Map<string, Value>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  /** Looks without counting as a use. */
  peek(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value): void {
    this.#entries.set(key, value);
    if (this.#entries.size > this.#limit) this.trim();
  }

  /** Forgets what is over the limit and may be forgotten; at most 64 looks a call, so that no call is long. */
  trim(): void {
    let looks = 64;
    for (const [key, value] of this.#entries) {
      if (this.#entries.size <= this.#limit || looks === 0) return;
      looks -= 1;
      if (value.evictable) this.#entries.delete(key);
      else this.get(key);
    }
  }

  values(): IterableIterator<Value> {
    return this.#entries.values();
  }
}
