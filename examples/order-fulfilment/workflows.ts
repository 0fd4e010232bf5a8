/**
 * The order process, in ordinary Temporal TypeScript.
 *
 * Place: runs inside the official worker's sandbox; everything that touches the world is an activity.
 *
 * Invariants
 *  1. Money is moved by activities of one attempt. When such a one ended in doubt, the ledger is asked; only if it knows
 *     of no movement is a new activity scheduled.
 *  2. A payment that was taken is either earned (shipped), given back (refunded) or in a person's hands (support case).
 */
import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  defineQuery,
  defineSignal,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { Activities } from './activities.ts';
import type { EndState, Fulfilment, Purchase } from './order.ts';

/** The parcel has left; says its number. Announced again, it changes nothing. */
export const shipped = defineSignal<[parcel: string]>('shipped');

/** Where the order stands. */
export const status = defineQuery<OrderStatus>('status');

export type OrderStatus =
  | { readonly step: 'taking-payment' | 'reserving-stock' | 'awaiting-shipment' | 'refunding' }
  | { readonly step: 'done'; readonly state: EndState };

export type FulfilOptions = {
  /** How long a paid order waits for its parcel; default 14 days. */
  readonly shipWithinMs?: number;
};

const SHIP_WITHIN_MS = 14 * 24 * 60 * 60 * 1_000;
const MOST_MOVES = 20;

// Long enough for a call that begins late in a busy worker; a start that was lost with its engine costs as much.
const { capturePayment, refundPayment } = proxyActivities<Activities>({
  startToCloseTimeout: '15 seconds',
  retry: { maximumAttempts: 1 },
});
const { hasMoved, openSupportCase } = proxyActivities<Activities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '2 seconds' },
});
const { reserveStock } = proxyActivities<Activities>({
  startToCloseTimeout: '10 seconds',
  retry: {
    initialInterval: '250 milliseconds',
    backoffCoefficient: 1.5,
    maximumInterval: '5 seconds',
    nonRetryableErrorTypes: ['GoneForEver'],
  },
});

/** Takes an order from payment to its one end state. */
export async function fulfilOrder(
  purchase: Purchase,
  { shipWithinMs = SHIP_WITHIN_MS }: FulfilOptions = {},
): Promise<Fulfilment> {
  let now: OrderStatus = { step: 'taking-payment' };
  let parcel: string | undefined;
  setHandler(status, () => now);
  setHandler(shipped, (number) => void (parcel ??= number));
  const end = (state: EndState): Fulfilment => {
    now = { step: 'done', state };
    return { order: purchase.id, state };
  };

  const payment = await moveOnce('capture', purchase);
  if (payment !== 'moved')
    return end(payment === 'declined' ? 'payment-declined' : 'payment-failed');

  now = { step: 'reserving-stock' };
  if ((await reserve(purchase)) === 'gone-for-ever') {
    now = { step: 'refunding' };
    return end(
      (await moveOnce('refund', purchase)) === 'moved' ? 'refunded' : await handOver(purchase),
    );
  }

  now = { step: 'awaiting-shipment' };
  const left = await condition(() => parcel !== undefined, shipWithinMs);
  return end(left ? 'shipped' : await handOver(purchase));
}

async function handOver(purchase: Purchase): Promise<EndState> {
  await openSupportCase(purchase);
  return 'support-case';
}

async function reserve(purchase: Purchase): Promise<'reserved' | 'gone-for-ever'> {
  try {
    await reserveStock(purchase);
    return 'reserved';
  } catch (error) {
    if (failedAs(error, 'GoneForEver')) return 'gone-for-ever';
    throw error;
  }
}

/** Moves money once: invariant 1. `in-doubt` is left only if MOST_MOVES tries came to nothing. */
async function moveOnce(
  kind: 'capture' | 'refund',
  purchase: Purchase,
): Promise<'moved' | 'declined' | 'in-doubt'> {
  const move = kind === 'capture' ? capturePayment : refundPayment;
  for (let tried = 0; tried < MOST_MOVES; tried += 1) {
    try {
      await move(purchase);
      return 'moved';
    } catch (error) {
      if (failedAs(error, 'CardDeclined')) return 'declined';
      if (!(error instanceof ActivityFailure)) throw error;
      if (await hasMoved(kind, purchase.id)) return 'moved';
    }
  }
  return 'in-doubt';
}

function failedAs(error: unknown, type: string): boolean {
  if (!(error instanceof ActivityFailure)) return false;
  return error.cause instanceof ApplicationFailure && error.cause.type === type;
}
