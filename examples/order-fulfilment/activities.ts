/**
 * The activities of the order process: one call to the ledger each.
 *
 * Place: made by the worker with the ledger's address; the workflow knows them by type only.
 *
 * Invariants
 *  1. A call that moves money has ended before the engine may time its activity out (in-time.ts): who settles a doubt
 *     then asks about the past.
 */
import { ApplicationFailure } from '@temporalio/common';
import { activityInfo } from '@temporalio/activity';
import { isInTime } from './in-time.ts';
import type { LedgerClient } from './ledger/ask-ledger.ts';
import type { Call } from './ledger/entry.ts';
import type { Purchase } from './order.ts';

export type Activities = ReturnType<typeof createActivities>;

/** Binds the activities to a ledger. */
export function createActivities(ledger: LedgerClient) {
  return {
    /** Takes the price. Scheduled with one attempt: what its failure means, only the ledger knows. */
    async capturePayment(purchase: Purchase): Promise<void> {
      assertInTime();
      const { outcome } = await ledger.call('capture', callOf(purchase));
      if (outcome === 'declined') {
        throw ApplicationFailure.nonRetryable('the card was declined', 'CardDeclined');
      }
    },

    /** Gives the price back. One attempt, like the capture. */
    async refundPayment(purchase: Purchase): Promise<void> {
      assertInTime();
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

/** Fails the attempt unused if it came too late: the workflow asks the ledger and schedules another. */
function assertInTime(): void {
  const { currentAttemptScheduledTimestampMs, startToCloseTimeoutMs } = activityInfo();
  const attempt = { scheduledAt: currentAttemptScheduledTimestampMs, startToCloseTimeoutMs };
  if (isInTime(attempt, Date.now())) return;
  throw ApplicationFailure.nonRetryable('the attempt came too late to move money', 'TooLate');
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
