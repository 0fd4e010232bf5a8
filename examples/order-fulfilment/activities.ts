/**
 * The activities of the order process: one call to the ledger each.
 *
 * Place: made by the worker with the ledger's address; the workflow knows them by type only.
 */
import { ApplicationFailure } from '@temporalio/common';
import { activityInfo } from '@temporalio/activity';
import type { LedgerClient } from './ledger/ask-ledger.ts';
import type { Call } from './ledger/entry.ts';
import type { Purchase } from './order.ts';

export type Activities = ReturnType<typeof createActivities>;

/** Binds the activities to a ledger. */
export function createActivities(ledger: LedgerClient) {
  return {
    /** Takes the price. Scheduled with one attempt: what its failure means, only the ledger knows. */
    async capturePayment(purchase: Purchase): Promise<void> {
      const { outcome } = await ledger.call('capture', callOf(purchase));
      if (outcome === 'declined') {
        throw ApplicationFailure.nonRetryable('the card was declined', 'CardDeclined');
      }
    },

    /** Gives the price back. One attempt, like the capture. */
    async refundPayment(purchase: Purchase): Promise<void> {
      await ledger.call('refund', callOf(purchase));
    },

    /** Settles doubt: does the ledger know of such a movement for this order? */
    async hasMoved(kind: 'capture' | 'refund', order: string): Promise<boolean> {
      return (await ledger.moved(kind, order)).length > 0;
    },

    /** Puts the item aside, or fails: to be tried again while it is missing, for good once it is no longer made. */
    async reserveStock(purchase: Purchase): Promise<void> {
      const { outcome } = await ledger.call('reserve', callOf(purchase));
      if (outcome === 'missing') throw new Error(`no ${purchase.item} in stock yet`);
      if (outcome === 'gone-for-ever') {
        throw ApplicationFailure.create({ message: 'no longer made', type: 'GoneForEver' });
      }
    },

    /** Asks a person to take over. Opening the same case twice is harmless: it is known by the order id. */
    async openSupportCase(purchase: Purchase): Promise<void> {
      await ledger.call('case', callOf(purchase));
    },
  };
}

function callOf({ id, cents }: Purchase): Call {
  const { workflowExecution, activityId, attempt } = activityInfo();
  return {
    order: id,
    cents,
    workflow: workflowExecution?.workflowId ?? '',
    run: workflowExecution?.runId ?? '',
    activity: activityId,
    attempt,
  };
}
