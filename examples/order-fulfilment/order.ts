/**
 * An order as the input file states it, and the one end state that its facts imply.
 *
 * Place: the file is the examination paper and its answer sheet in one. The shop (workflow, activities) is told only
 * what a shop knows: id, item, price. The world (ledger, driver) plays the facts. `impliedEnd` is what must come of it,
 * whatever fails on the way.
 *
 * Invariants
 *  1. The end state depends on the facts of the order alone: not on time, on other orders or on failures of the engine.
 */

/** Where the shop's worker looks for tasks. */
export const TASK_QUEUE = 'orders';

/** What the customer's card does. Each fact is played once, by the first capture of the order. */
export type CardFact =
  | 'pays'
  | 'declines'
  /** The money is taken, but the answer never arrives: the shop has to ask. */
  | 'pays-answer-lost'
  /** The first capture fails before any money is taken; the next one works. */
  | 'fails-before-taking';

export type Order = {
  readonly id: string;
  readonly item: string;
  readonly quantity: number;
  readonly cents: number;
  readonly card: CardFact;
  /** How often the warehouse looks in vain before the item is there; `for-ever`: it is no longer made. */
  readonly stockMissing: number | 'for-ever';
  /** When the parcel leaves, counted from the acknowledged start of the order; null: it never does. */
  readonly shipsAfterMs: number | null;
};

/** What the shop is told of an order: no facts of the future. */
export type Purchase = Pick<Order, 'id' | 'item' | 'quantity' | 'cents'>;

export type EndState =
  | 'shipped'
  | 'refunded'
  | 'payment-declined'
  /** Paid, reserved, not shipped in time: a person takes over. The money stays open. */
  | 'support-case'
  /** Every bounded try to take the money failed. No order of the file implies it. */
  | 'payment-failed';

/** The result of the workflow. */
export type Fulfilment = { readonly order: string; readonly state: EndState };

/** The one end state that the facts of an order imply. */
export function impliedEnd(order: Order): EndState {
  if (order.card === 'declines') return 'payment-declined';
  if (order.stockMissing === 'for-ever') return 'refunded';
  return order.shipsAfterMs === null ? 'support-case' : 'shipped';
}

/** The part of an order that the shop may know. */
export function purchaseOf({ id, item, quantity, cents }: Order): Purchase {
  return { id, item, quantity, cents };
}

/** The number of the parcel that is announced with the `shipped` signal: the same on each announcement. */
export function parcelOf(order: Order): string {
  return `parcel-of-${order.id}`;
}
