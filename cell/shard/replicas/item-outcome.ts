/**
 * One of many things that a call brings: what it throws becomes its own outcome, and holds up no other of the call.
 *
 * Invariants
 *  1. `later` and `refused` say nothing of what is durable: the thing may be sent again.
 *  2. Where the caller is gone the whole call ends.
 */
import { toAtollError } from '../../../kernel/errors.ts';
import { isDamage } from '../damage.ts';
import type { ApplyOutcome } from './replicas.ts';

/** What breaks on the thing itself is refused, so that somebody hears of it; anything else passes. Pure. */
export function outcomeOfError(thrown: unknown): ApplyOutcome {
  const { message } = toAtollError(thrown);
  return { kind: isDamage(thrown) ? 'refused' : 'later', reason: message };
}

/** What `act` answers, or makes of what it threw. @throws the signal's reason, once it has aborted */
export async function orOutcome<Result>(
  signal: AbortSignal,
  act: () => Promise<Result>,
  make: (outcome: ApplyOutcome) => Result,
): Promise<Result> {
  try {
    return await act();
  } catch (thrown) {
    signal.throwIfAborted();
    return make(outcomeOfError(thrown));
  }
}

/** The same for a thing that has one outcome. */
export function oneOutcome(
  signal: AbortSignal,
  act: () => Promise<ApplyOutcome>,
): Promise<ApplyOutcome> {
  return orOutcome(signal, act, (outcome) => outcome);
}
