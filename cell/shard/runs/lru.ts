/**
 * A bounded cache that forgets the least recently used entries that may be forgotten; pinned ones come on top (P11).
 *
 * Invariant: an entry that may not be forgotten stays, whatever the bound says.
 */

/** So many entries are looked at in one call, so that no call is long. */
const LOOKS = 64;

export class PinnedLru<Value> {
  readonly #limit: number;
  readonly #mayForget: (value: Value) => boolean;
  readonly #forgotten: (value: Value) => void;
  readonly #entries = new Map<string, Value>();

  /** @param forgotten told of each entry that leaves, whoever asked for it */
  constructor(
    limit: number,
    mayForget: (value: Value) => boolean,
    forgotten: (value: Value) => void = () => {},
  ) {
    this.#limit = limit;
    this.#mayForget = mayForget;
    this.#forgotten = forgotten;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A look counts as a use; while there is plenty of room the order does not matter and is not kept. */
  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined && this.#entries.size > this.#limit / 2) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  /** A look that counts as none. */
  peek(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.trim(key);
  }

  delete(key: string): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#forgotten(value);
  }

  /** Forgets what is over the limit and may be forgotten, except the one just added: its asker is about to look. */
  trim(except?: string): void {
    let looks = LOOKS;
    for (const [key, value] of this.#entries) {
      if (this.#entries.size <= this.#limit || looks === 0) return;
      looks -= 1;
      this.#entries.delete(key);
      if (key === except || !this.#mayForget(value)) this.#entries.set(key, value);
      else this.#forgotten(value);
    }
  }

  values(): IterableIterator<Value> {
    return this.#entries.values();
  }
}
