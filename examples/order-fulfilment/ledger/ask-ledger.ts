/**
 * Calls to the ledger, as the shop's activities and the driver make them.
 *
 * Invariants
 *  1. Every call has a deadline; one that passed leaves the outcome unknown, and the caller has to ask.
 */
import type { Call, CallKind, Entry, OrderTotals } from './entry.ts';

/** After so long a call is given up, answered or not. */
export const LEDGER_DEADLINE_MS = 4_000;

export class LedgerClient {
  readonly #url: string;

  /** @param url where the ledger listens, such as http://127.0.0.1:7600 */
  constructor(url: string) {
    this.#url = url;
  }

  /** Makes one call. Rejects if the answer did not come or was a failure: then it may or may not have been done. */
  call(kind: CallKind, call: Call): Promise<Entry> {
    return this.#fetch<Entry>(`/${kind}`, { method: 'POST', body: JSON.stringify(call) });
  }

  /** The entries that moved money of this kind for an order, oldest first. */
  moved(kind: 'capture' | 'refund', order: string): Promise<readonly Entry[]> {
    return this.#fetch(`/${kind}s/${encodeURIComponent(order)}`, {});
  }

  /** What was done, by order. */
  totals(): Promise<Readonly<Record<string, OrderTotals>>> {
    return this.#fetch('/totals', {});
  }

  async #fetch<Answer>(path: string, init: RequestInit): Promise<Answer> {
    const response = await fetch(this.#url + path, {
      ...init,
      signal: AbortSignal.timeout(LEDGER_DEADLINE_MS),
    });
    if (!response.ok) throw new Error(`the ledger answered ${response.status} to ${path}`);
    return (await response.json()) as Answer;
  }
}
