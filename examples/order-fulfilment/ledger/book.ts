/**
 * The ledger's book, pure: it plays the facts of the outside world and keeps what was done for each order.
 *
 * Place: the server asks `decide` what comes of a call, writes the entry to disk and only then answers. The book refuses
 * nothing: a shop that captures twice has captured twice, and the reconciliation shows it.
 *
 * Invariants
 *  1. A fact is played by the first calls of its kind for the order: by count, never by time or chance.
 *  2. Totals count entries with the outcome `done` only.
 */
import type { Order } from '../order.ts';
import {
  NOTHING,
  type Call,
  type CallKind,
  type Entry,
  type OrderTotals,
  type Outcome,
} from './entry.ts';

/** What the server does with a call once its entry is on disk. */
export type Decision = { readonly entry: Entry; readonly answer: 'sent' | 'lost' };

export class Book {
  readonly #facts: ReadonlyMap<string, Order>;
  readonly #entries = new Map<string, Entry[]>();
  #calls = 0;

  constructor(orders: readonly Order[]) {
    this.#facts = new Map(orders.map((order) => [order.id, order]));
  }

  /** Number of calls so far. */
  get calls(): number {
    return this.#calls;
  }

  /** Decides one call and keeps its entry. An order that is not in the file has no facts: everything works. */
  decide(kind: CallKind, call: Call, at: string): Decision {
    const facts = this.#facts.get(call.order);
    const earlier = this.of(call.order).filter((entry) => entry.kind === kind).length;
    const outcome = facts ? outcomeOf(kind, facts, earlier) : 'done';
    this.#calls += 1;
    const entry: Entry = { call: this.#calls, at, kind, outcome, ...call };
    const known = this.#entries.get(call.order);
    if (known) known.push(entry);
    else this.#entries.set(call.order, [entry]);
    const lost = kind === 'capture' && earlier === 0 && facts?.card === 'pays-answer-lost';
    return { entry, answer: lost ? 'lost' : 'sent' };
  }

  /** All entries of an order, oldest first. */
  of(order: string): readonly Entry[] {
    return this.#entries.get(order) ?? [];
  }

  /** What was done, by order id. */
  totals(): Readonly<Record<string, OrderTotals>> {
    return Object.fromEntries([...this.#entries].map(([id, entries]) => [id, totalsOf(entries)]));
  }
}

/** Sums the entries of one order. */
export function totalsOf(entries: readonly Entry[]): OrderTotals {
  return entries.filter((entry) => entry.outcome === 'done').reduce(add, NOTHING);
}

function add(sum: OrderTotals, { kind, cents }: Entry): OrderTotals {
  switch (kind) {
    case 'capture':
      return { ...sum, captured: sum.captured + cents, captures: sum.captures + 1 };
    case 'refund':
      return { ...sum, refunded: sum.refunded + cents, refunds: sum.refunds + 1 };
    case 'reserve':
      return { ...sum, reservations: sum.reservations + 1 };
    case 'case':
      return { ...sum, cases: sum.cases + 1 };
  }
}

function outcomeOf(kind: CallKind, facts: Order, earlier: number): Outcome {
  if (kind === 'capture') {
    if (facts.card === 'declines') return 'declined';
    return facts.card === 'fails-before-taking' && earlier === 0 ? 'failed' : 'done';
  }
  if (kind === 'reserve') {
    if (facts.stockMissing === 'for-ever') return 'gone-for-ever';
    return earlier < facts.stockMissing ? 'missing' : 'done';
  }
  return 'done';
}
