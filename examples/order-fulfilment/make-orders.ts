/**
 * Makes orders.json: `npx tsx examples/order-fulfilment/make-orders.ts`.
 *
 * Place: run once by whoever changes the mix; its output is committed, and a test holds the two together.
 *
 * Invariants
 *  1. The same seed makes the same file, byte for byte.
 *  2. Every kind of fact occurs, and every end state has at least 20 orders among 1,000.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { CardFact, Order } from './order.ts';

const SEED = 20_271;
const COUNT = 1_000;
const ITEMS = ['teapot', 'lamp', 'kite', 'globe', 'clock', 'drum', 'chair', 'compass'];

/** Makes `count` orders from a seed. */
export function makeOrders(count: number, seed: number): readonly Order[] {
  const next = fractions(seed);
  return Array.from({ length: count }, (_, index) => makeOrder(index + 1, next));
}

/** One order a line, so that a difference is readable. */
export function asFile(orders: readonly Order[]): string {
  return `[\n${orders.map((order) => JSON.stringify(order)).join(',\n')}\n]\n`;
}

function makeOrder(number: number, next: () => number): Order {
  const quantity = 1 + Math.floor(next() * 3);
  return {
    id: `order-${String(number).padStart(4, '0')}`,
    item: ITEMS[Math.floor(next() * ITEMS.length)] ?? 'teapot',
    quantity,
    cents: quantity * (500 + Math.floor(next() * 9_500)),
    card: card(next()),
    stockMissing: stockMissing(next()),
    shipsAfterMs: next() < 0.08 ? null : 200 + Math.floor(next() * 3_800),
  };
}

function card(dice: number): CardFact {
  if (dice < 0.06) return 'declines';
  if (dice < 0.1) return 'pays-answer-lost';
  return dice < 0.14 ? 'fails-before-taking' : 'pays';
}

function stockMissing(dice: number): Order['stockMissing'] {
  if (dice < 0.06) return 'for-ever';
  return dice < 0.18 ? 1 + Math.floor((dice - 0.06) / 0.04) : 0;
}

/** A small seeded generator (mulberry32): the file must not depend on the machine. */
function fractions(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What the committed file holds. */
export function committedOrders(): string {
  return asFile(makeOrders(COUNT, SEED));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('orders.json', import.meta.url), committedOrders());
}
