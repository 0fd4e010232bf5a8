/** Timeouts, retry policies and parts of the contract that do not exist here yet: refused, never ignored. */
import { AtollError } from '../../../kernel/errors.ts';
import type { Duration, RetryPolicy } from '../../../wire/plain.ts';
import { durationMs } from '../../history/durations.ts';
import { badRequest } from './ids.ts';

/** A duration in ms, 0 where unset. @throws AtollError `invalid-argument` when negative */
export function nonNegativeMs(field: string, duration: Duration | undefined): number {
  const ms = durationMs(duration);
  if (!(ms >= 0)) throw badRequest(`${field} is negative.`);
  return ms;
}

/** @throws AtollError `invalid-argument` naming what is wrong with it */
export function checkRetryPolicy(policy: RetryPolicy | undefined): RetryPolicy | undefined {
  if (policy === undefined) return undefined;
  const initialMs = nonNegativeMs('RetryPolicy.InitialInterval', policy.initialInterval);
  const maximumMs = nonNegativeMs('RetryPolicy.MaximumInterval', policy.maximumInterval);
  if (maximumMs > 0 && maximumMs < initialMs) {
    throw badRequest('RetryPolicy.MaximumInterval is shorter than InitialInterval.');
  }
  const coefficient = policy.backoffCoefficient ?? 0;
  if (!Number.isFinite(coefficient) || (coefficient !== 0 && coefficient < 1)) {
    throw badRequest('RetryPolicy.BackoffCoefficient is below 1.');
  }
  if ((policy.maximumAttempts ?? 0) < 0)
    throw badRequest('RetryPolicy.MaximumAttempts is negative.');
  return policy;
}

/**
 * Fields that would change what the request means and that this release cannot honour.
 * @throws AtollError `unimplemented` naming the first that is set
 */
export function refuseUnsupported(rpc: string, fields: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(fields)) {
    const empty =
      value === undefined ||
      value === '' ||
      value === false ||
      (Array.isArray(value) && value.length === 0);
    if (empty) continue;
    throw new AtollError(
      'unimplemented',
      `${rpc} with ${field} is not implemented by this version of Atoll: leave ${field} unset.`,
    );
  }
}
