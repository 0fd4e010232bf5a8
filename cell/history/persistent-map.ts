/**
 * Immutable maps for what a run has many of: changing one entry gives a new map and leaves the old one as it was, so
 * that the committed and the newest state of a run stand side by side (state.ts).
 *
 * Place: the folds of activities and timers. A run with a few entries copies a plain map, which is the fastest; one
 * with thousands must not copy them all for each heartbeat or fired timer (P10), so it keeps a shared base and a
 * small difference to it.
 *
 * Invariants
 *  1. A map that was handed out never changes.
 *  2. Order is that of `Map`: of first insertion, and last again after a removal.
 *  3. The difference holds at most about the square root of the base, so a change costs about that much.
 */

/** Maps up to this size are copied whole. */
const MOST_COPIED = 64;

/** The map with this entry. */
export function withEntry<K, V extends object>(
  map: ReadonlyMap<K, V>,
  key: K,
  value: V,
): ReadonlyMap<K, V> {
  if (isLayered(map)) return map.with(key, value);
  if (map.size > MOST_COPIED) return LayeredMap.over(map).with(key, value);
  return new Map(map).set(key, value);
}

/** The map without the key: the same map where it had none. */
export function withoutKey<K, V extends object>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  if (!map.has(key)) return map;
  if (isLayered(map)) return map.without(key);
  if (map.size > MOST_COPIED) return LayeredMap.over(map).without(key);
  return lacking(map, key);
}

function isLayered<K, V extends object>(map: ReadonlyMap<K, V>): map is LayeredMap<K, V> {
  return map instanceof LayeredMap;
}

/** What differs from the base. Parts that a change leaves alone are shared. */
type Difference<K, V> = {
  /** Keys of the base with another value. */
  readonly changed: ReadonlyMap<K, V>;
  /** Keys of the base that left; one that came back is in `added` too. */
  readonly gone: ReadonlySet<K>;
  /** What comes after the base, in order. */
  readonly added: ReadonlyMap<K, V>;
};

class LayeredMap<K, V extends object> implements ReadonlyMap<K, V> {
  readonly #base: ReadonlyMap<K, V>;
  readonly #difference: Difference<K, V>;

  private constructor(base: ReadonlyMap<K, V>, difference: Difference<K, V>) {
    this.#base = base;
    this.#difference = difference;
  }

  static over<K, V extends object>(base: ReadonlyMap<K, V>): LayeredMap<K, V> {
    return new LayeredMap<K, V>(base, {
      changed: new Map<K, V>(),
      gone: new Set<K>(),
      added: new Map<K, V>(),
    });
  }

  get size(): number {
    const { gone, added } = this.#difference;
    return this.#base.size - gone.size + added.size;
  }

  get(key: K): V | undefined {
    const { changed, gone, added } = this.#difference;
    const last = added.get(key) ?? changed.get(key);
    return last ?? (gone.has(key) ? undefined : this.#base.get(key));
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  with(key: K, value: V): ReadonlyMap<K, V> {
    const { changed, gone, added } = this.#difference;
    if (this.#base.has(key) && !gone.has(key))
      return this.#bounded({ changed: new Map(changed).set(key, value), gone, added });
    return this.#bounded({ changed, gone, added: new Map(added).set(key, value) });
  }

  without(key: K): ReadonlyMap<K, V> {
    const { changed, gone, added } = this.#difference;
    if (added.has(key)) return this.#bounded({ changed, gone, added: lacking(added, key) });
    return this.#bounded({ changed: lacking(changed, key), gone: new Set(gone).add(key), added });
  }

  *entries(): MapIterator<[K, V]> {
    const { changed, gone, added } = this.#difference;
    for (const [key, value] of this.#base)
      if (!gone.has(key)) yield [key, changed.get(key) ?? value];
    yield* added.entries();
  }

  *keys(): MapIterator<K> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }

  forEach(visit: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this) visit(value, key, this);
  }

  /** A difference that has grown too large becomes part of a base of its own, small maps become plain ones. */
  #bounded(difference: Difference<K, V>): ReadonlyMap<K, V> {
    const next = new LayeredMap(this.#base, difference);
    const { changed, gone, added } = difference;
    const most = MOST_COPIED / 2 + Math.sqrt(this.#base.size);
    if (next.size > MOST_COPIED && changed.size + gone.size + added.size <= most) return next;
    return new Map(next);
  }
}

function lacking<K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> {
  if (!map.has(key)) return map;
  const next = new Map(map);
  next.delete(key);
  return next;
}
