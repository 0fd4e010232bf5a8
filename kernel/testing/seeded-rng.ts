/**
 * A seeded Rng: the same seed gives the same bytes, fractions and ids on every machine (D12).
 *
 * Place: tests, fuzz tests and the simulator. The generator is sfc32 (128 bits of state, three of them mixed
 * and one a counter, so that no seed falls into a short cycle); the seed is spread by splitmix32. Nobody may
 * take its bytes for secrets.
 *
 * Invariants
 *  1. A draw depends on the seed and the draws before it, on nothing else.
 *  2. `fork(label)` depends on the seed and the label alone, so one part that draws more leaves the
 *     draws of the others as they were.
 */
import { invariant } from '../invariant.ts';
import type { Rng } from '../rng.ts';

const WARM_UP_ROUNDS = 12;

export class SeededRng implements Rng {
  readonly seed: number;
  readonly #state: Uint32Array;

  /** @param seed any safe integer; print it whenever a test that used it fails */
  constructor(seed: number) {
    invariant(Number.isSafeInteger(seed), `seed ${seed} is not a safe integer`);
    this.seed = seed;
    this.#state = spread(seed);
    for (let i = 0; i < WARM_UP_ROUNDS; i++) this.uint32();
  }

  /** The next 32 bits as an unsigned integer. */
  uint32(): number {
    const s = this.#state;
    const [a = 0, b = 0, c = 0, counter = 0] = s;
    const out = (a + b + counter) >>> 0;
    s[0] = b ^ (b >>> 9);
    s[1] = c + (c << 3);
    s[2] = ((c << 21) | (c >>> 11)) + out;
    s[3] = counter + 1;
    return out;
  }

  fraction(): number {
    // 53 bits, the most a double holds without bias.
    return ((this.uint32() >>> 5) * 2 ** 26 + (this.uint32() >>> 6)) / 2 ** 53;
  }

  bytes(count: number): Uint8Array {
    const out = new Uint8Array(count);
    for (let i = 0; i < count; i += 4) {
      let word = this.uint32();
      for (let j = i; j < Math.min(i + 4, count); j++) {
        out[j] = word & 0xff;
        word >>>= 8;
      }
    }
    return out;
  }

  uuid(): string {
    const b = this.bytes(16);
    b[6] = ((b[6] ?? 0) & 0x0f) | 0x40;
    b[8] = ((b[8] ?? 0) & 0x3f) | 0x80;
    const hex = Array.from(b, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      hex.slice(12, 16),
      hex.slice(16, 20),
      hex.slice(20),
    ].join('-');
  }

  /** An integer from `min` to `max`, both included. */
  integer(min: number, max: number): number {
    invariant(
      Number.isSafeInteger(min) && Number.isSafeInteger(max) && min <= max,
      `integer ${min}…${max}`,
    );
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  /** True with this probability, 0 to 1. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** One of the items, which may not be empty. */
  pick<Item>(items: readonly Item[]): Item {
    invariant(items.length > 0, 'pick from nothing');
    return items[this.integer(0, items.length - 1)] as Item;
  }

  /** The items in a random order; the argument stays as it is. */
  shuffle<Item>(items: readonly Item[]): Item[] {
    const out = [...items];
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.integer(0, i);
      [out[i], out[j]] = [out[j] as Item, out[i] as Item];
    }
    return out;
  }

  /** A stream of its own for a part named `label`. */
  fork(label: string): SeededRng {
    const name = `${this.seed}/${label}`;
    return new SeededRng((fnv1a(name, 0x811c9dc5) & 0x1fffff) * 2 ** 32 + fnv1a(name, 0x9747b28c));
  }
}

/** 32-bit FNV-1a over UTF-16 units, from a basis of choice. */
function fnv1a(text: string, basis: number): number {
  let hash = basis;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Four state words from a seed, by splitmix32 over its low half. */
function spread(seed: number): Uint32Array {
  const state = new Uint32Array(4);
  let x = seed >>> 0;
  for (let i = 0; i < 3; i++) {
    x = (x + 0x9e3779b9) | 0;
    let z = x ^ (x >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    state[i] = z ^ (z >>> 15);
  }
  // The high half starts the counter: no two safe integers share a state.
  state[3] = Math.floor(seed / 2 ** 32) + 1;
  return state;
}
