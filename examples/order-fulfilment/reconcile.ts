/**
 * The closing of the books, pure: what the file implies, what the workflows say and what the ledger holds must agree.
 *
 * Invariants
 *  1. Each order is in the one end state that its facts imply, by the workflow's word and by the ledger's.
 *  2. Money captured = shipped + refunded + open, to the cent.
 */
import type { OrderTotals } from './ledger/entry.ts';
import { NOTHING } from './ledger/entry.ts';
import { impliedEnd, type EndState, type Order } from './order.ts';

/** What came of an order: the end state that its workflow returned, or why there is none. */
export type Result =
  | { readonly kind: 'ended'; readonly state: EndState }
  | { readonly kind: 'failed'; readonly reason: string };

export type Money = {
  readonly captured: number;
  readonly shipped: number;
  readonly refunded: number;
  readonly open: number;
};

export type Report = {
  readonly states: ReadonlyMap<EndState, number>;
  readonly money: Money;
  /** One line for each order that is not as the file implies, and one if the sums differ. */
  readonly wrong: readonly string[];
};

type Books = {
  readonly results: ReadonlyMap<string, Result>;
  readonly totals: Readonly<Record<string, OrderTotals>>;
};

/** Holds results and ledger against the orders. It reconciles if `wrong` is empty. */
export function reconcile(orders: readonly Order[], { results, totals }: Books): Report {
  const wrong: string[] = [];
  const states = new Map<EndState, number>();
  let money: Money = { captured: 0, shipped: 0, refunded: 0, open: 0 };
  for (const order of orders) {
    const result = results.get(order.id);
    const held = totals[order.id] ?? NOTHING;
    const complaint = complain(order, result, held);
    if (complaint) wrong.push(`${order.id}: ${complaint}`);
    money = {
      ...money,
      captured: money.captured + held.captured,
      refunded: money.refunded + held.refunded,
    };
    if (result?.kind !== 'ended') continue;
    states.set(result.state, (states.get(result.state) ?? 0) + 1);
    if (result.state === 'shipped') money = { ...money, shipped: money.shipped + order.cents };
    if (result.state === 'support-case') money = { ...money, open: money.open + order.cents };
  }
  const accounted = money.shipped + money.refunded + money.open;
  if (money.captured !== accounted) {
    wrong.push(`the sums: captured ${euros(money.captured)}, accounted for ${euros(accounted)}`);
  }
  return { states, money, wrong };
}

/** The report as text: a table of end states, the sums, and the first wrong orders. */
export function describeReport(report: Report, showWrong = 10): string {
  const { money, wrong } = report;
  const states = [...report.states].sort(([, a], [, b]) => b - a);
  return [
    'Ledger',
    ...states.map(([state, count]) => `  ${state.padEnd(18)}${String(count).padStart(12)}`),
    `  ${'captured'.padEnd(18)}${euros(money.captured).padStart(12)}`,
    `  ${'= shipped'.padEnd(18)}${euros(money.shipped).padStart(12)}`,
    `  ${'+ refunded'.padEnd(18)}${euros(money.refunded).padStart(12)}`,
    `  ${'+ open'.padEnd(18)}${euros(money.open).padStart(12)}`,
    wrong.length === 0
      ? 'Reconciled: every order is in the end state that the file implies.'
      : `NOT reconciled, ${wrong.length} wrong:`,
    ...wrong.slice(0, showWrong).map((line) => `  ${line}`),
    ...(wrong.length > showWrong ? [`  and ${wrong.length - showWrong} more`] : []),
  ].join('\n');
}

function complain(order: Order, result: Result | undefined, held: OrderTotals): string | undefined {
  const implied = impliedEnd(order);
  if (!result) return `no result, implied ${implied}`;
  if (result.kind === 'failed') return `${result.reason}, implied ${implied}`;
  if (result.state !== implied) return `ended ${result.state}, implied ${implied}`;
  const captured = implied === 'payment-declined' ? 0 : order.cents;
  if (held.captured !== captured) return `captured ${euros(held.captured)}, not ${euros(captured)}`;
  const refunded = implied === 'refunded' ? order.cents : 0;
  if (held.refunded !== refunded) return `refunded ${euros(held.refunded)}, not ${euros(refunded)}`;
  if (held.cases > 0 !== (implied === 'support-case')) return `${held.cases} support cases`;
  if (held.reservations > 0 !== (implied === 'shipped' || implied === 'support-case')) {
    return `${held.reservations} reservations`;
  }
  return undefined;
}

function euros(cents: number): string {
  return (cents / 100).toFixed(2);
}
