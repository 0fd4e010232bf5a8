/** The words of the ledger: what a call asks, what is recorded of it, what may be asked about an order. */

/** What may be asked for: money in, money out, an item put aside, a person to take over. */
export const CALL_KINDS = ['capture', 'refund', 'reserve', 'case'] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** A call as the shop's activity sends it. */
export type Call = {
  readonly order: string;
  readonly cents: number;
  /** Which activity called: run and activity id name it once and for ever. */
  readonly workflow: string;
  readonly run: string;
  readonly activity: string;
  readonly attempt: number;
};

/** What came of a call. Only `done` moves money, puts an item aside or opens a case. */
export type Outcome = 'done' | 'declined' | 'failed' | 'missing' | 'gone-for-ever';

/** One line of the ledger's file. */
export type Entry = Call & {
  /** Number of the call, from 1, in the order of arrival. */
  readonly call: number;
  /** Time of arrival, ISO 8601. */
  readonly at: string;
  readonly kind: CallKind;
  readonly outcome: Outcome;
};

/** What the ledger holds of one order, in cents and counts. */
export type OrderTotals = {
  readonly captured: number;
  readonly refunded: number;
  readonly captures: number;
  readonly refunds: number;
  readonly reservations: number;
  readonly cases: number;
};

export const NOTHING: OrderTotals = {
  captured: 0,
  refunded: 0,
  captures: 0,
  refunds: 0,
  reservations: 0,
  cases: 0,
};
