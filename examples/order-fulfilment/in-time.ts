/**
 * Whether an attempt may still make a call that moves money.
 *
 * Place: asked by the activities right before the call. An attempt can reach its code late: the answer that brought it was
 * delayed, or the worker was busy or stopped. Its clock at the engine may have run out by then, and the workflow may have
 * asked the ledger already: a call made now would be a second movement that nobody expects.
 *
 * Invariants
 *  1. An attempt starts after it was scheduled, so the engine times it out no earlier than `scheduledAt` + its timeout. A
 *     call that begins in time ends, at its own deadline, before that.
 */
import { LEDGER_DEADLINE_MS } from './ledger/ask-ledger.ts';

/** What the clocks of worker and engine may differ by (D16). */
const CLOCK_SKEW_MS = 1_000;

export type Attempt = {
  /** When the engine scheduled this attempt, in milliseconds since 1970. */
  readonly scheduledAt: number;
  readonly startToCloseTimeoutMs: number;
};

/** True if a call that begins at `now` cannot outlive the attempt. */
export function isInTime({ scheduledAt, startToCloseTimeoutMs }: Attempt, now: number): boolean {
  return now + LEDGER_DEADLINE_MS + CLOCK_SKEW_MS <= scheduledAt + startToCloseTimeoutMs;
}
