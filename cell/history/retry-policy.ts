/**
 * Retry policies, for activities and for workflows: the defaults, what is refused, and whether and when an attempt
 * that failed is followed by another.
 *
 * Place: pure; `normaliseRetryPolicy` when a policy comes in, `nextRetry` when an attempt ends.
 *
 * Invariants
 *  1. A policy of n maximum attempts never answers `retry` for attempt n or later (P4).
 *  2. A retry never starts after `expiresAt`.
 */
import { RetryState, TimeoutType } from '../../wire/enums.ts';
import type { Failure, RetryPolicy } from '../../wire/plain.ts';
import { durationMs, LONGEST_MS, toDuration } from './durations.ts';
import type { EpochMs } from './state.ts';

const DEFAULT_INITIAL_MS = 1_000;
const DEFAULT_COEFFICIENT = 2;
/** Maximum interval where none is given: this many times the initial interval. */
const DEFAULT_MAXIMUM_FACTOR = 100;
const MOST_NON_RETRYABLE_TYPES = 1_000;
/** Prefix by which a policy names timeouts among its non-retryable types. */
const TIMEOUT_PREFIX = 'TemporalTimeout:';

/** Names of timeout types as the contract's servers write them in messages and types. */
export const TIMEOUT_NAME = {
  [TimeoutType.Unspecified]: 'Unspecified',
  [TimeoutType.StartToClose]: 'StartToClose',
  [TimeoutType.ScheduleToStart]: 'ScheduleToStart',
  [TimeoutType.ScheduleToClose]: 'ScheduleToClose',
  [TimeoutType.Heartbeat]: 'Heartbeat',
} as const satisfies Record<TimeoutType, string>;

export type PolicyCheck =
  | { readonly kind: 'policy'; readonly policy: RetryPolicy }
  | { readonly kind: 'bad'; readonly message: string };

/** The policy with every field set, or why it cannot be. Absent fields, and an absent policy, take the defaults. */
export function normaliseRetryPolicy(given: RetryPolicy | undefined): PolicyCheck {
  const initialMs = durationMs(given?.initialInterval);
  const maximumMs = durationMs(given?.maximumInterval);
  const coefficient = given?.backoffCoefficient ?? 0;
  const attempts = given?.maximumAttempts ?? 0;
  const types = given?.nonRetryableErrorTypes ?? [];
  const effectiveInitialMs = initialMs === 0 ? DEFAULT_INITIAL_MS : initialMs;
  const effectiveMaximumMs =
    maximumMs === 0 ? Math.min(effectiveInitialMs * DEFAULT_MAXIMUM_FACTOR, LONGEST_MS) : maximumMs;

  if (initialMs < 0) return bad(`initialInterval is negative (${initialMs} ms)`);
  if (maximumMs < 0) return bad(`maximumInterval is negative (${maximumMs} ms)`);
  if (coefficient !== 0 && !(coefficient >= 1))
    return bad(`backoffCoefficient is ${coefficient}; it must be at least 1`);
  if (effectiveMaximumMs < effectiveInitialMs)
    return bad(
      `maximumInterval (${effectiveMaximumMs} ms) is less than initialInterval (${effectiveInitialMs} ms)`,
    );
  if (attempts < 0) return bad(`maximumAttempts is negative (${attempts})`);
  if (types.length > MOST_NON_RETRYABLE_TYPES)
    return bad(
      `nonRetryableErrorTypes has ${types.length} entries; at most ${MOST_NON_RETRYABLE_TYPES} are allowed`,
    );
  return {
    kind: 'policy',
    policy: {
      initialInterval: toDuration(effectiveInitialMs),
      backoffCoefficient: coefficient === 0 ? DEFAULT_COEFFICIENT : coefficient,
      maximumInterval: toDuration(effectiveMaximumMs),
      maximumAttempts: attempts,
      nonRetryableErrorTypes: types,
    },
  };
}

export type RetryQuestion = {
  /** Absent: never retried. */
  readonly policy: RetryPolicy | undefined;
  /** The attempt that ended, from 1. */
  readonly attempt: number;
  readonly now: EpochMs;
  /** No retry may start later; 0 = no end. */
  readonly expiresAt: EpochMs;
  readonly failure: Failure | undefined;
  /** Overrides the policy's interval; absent: what the failure itself asks for (next_retry_delay), if anything. */
  readonly nextRetryDelayMs?: number | undefined;
};

export type RetryAnswer =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'stop'; readonly retryState: RetryState };

/** Whether the attempt is followed by another, and after how long; if not, why, as closing events tell it. */
export function nextRetry(question: RetryQuestion): RetryAnswer {
  const { policy, attempt, now, expiresAt, failure } = question;
  if (policy === undefined) return stop(RetryState.RetryPolicyNotSet);
  if (!isRetryable(failure, policy.nonRetryableErrorTypes ?? []))
    return stop(RetryState.NonRetryableFailure);
  const maximum = policy.maximumAttempts ?? 0;
  if (maximum > 0 && attempt >= maximum) return stop(RetryState.MaximumAttemptsReached);
  const asked = question.nextRetryDelayMs ?? delayAskedBy(failure);
  const delayMs = asked ?? backoffMs(policy, attempt);
  if (expiresAt > 0 && now + delayMs > expiresAt) return stop(RetryState.Timeout);
  return { kind: 'retry', delayMs };
}

/** Whether another attempt may help. What a failure or the policy calls final is final; so is an unmet deadline. */
export function isRetryable(
  failure: Failure | undefined,
  nonRetryableTypes: readonly string[],
): boolean {
  if (failure === undefined) return true;
  if (failure.terminatedFailureInfo || failure.canceledFailureInfo) return false;
  if (failure.timeoutFailureInfo) {
    const type = failure.timeoutFailureInfo.timeoutType ?? TimeoutType.Unspecified;
    // Only these two say that an attempt ran too long; the others say that there is no time for one.
    if (type !== TimeoutType.StartToClose && type !== TimeoutType.Heartbeat) return false;
    return !nonRetryableTypes.includes(TIMEOUT_PREFIX + TIMEOUT_NAME[type]);
  }
  if (failure.serverFailureInfo) return failure.serverFailureInfo.nonRetryable !== true;
  if (failure.applicationFailureInfo) {
    if (failure.applicationFailureInfo.nonRetryable === true) return false;
    return !nonRetryableTypes.includes(failure.applicationFailureInfo.type ?? '');
  }
  return true;
}

/** initial * coefficient ^ (attempt - 1), at most the maximum interval. */
function backoffMs(policy: RetryPolicy, attempt: number): number {
  const initialMs = durationMs(policy.initialInterval) || DEFAULT_INITIAL_MS;
  const maximumMs = durationMs(policy.maximumInterval) || initialMs * DEFAULT_MAXIMUM_FACTOR;
  const grown = initialMs * (policy.backoffCoefficient || DEFAULT_COEFFICIENT) ** (attempt - 1);
  // The power may be Infinity after many attempts: the minimum is then the maximum interval.
  return Math.ceil(Math.min(grown, maximumMs, LONGEST_MS));
}

/** A worker may say when to try again; it is not bound by the policy's intervals. */
function delayAskedBy(failure: Failure | undefined): number | undefined {
  const delay = failure?.applicationFailureInfo?.nextRetryDelay;
  return delay === undefined ? undefined : Math.max(0, durationMs(delay));
}

function stop(retryState: RetryState): RetryAnswer {
  return { kind: 'stop', retryState };
}

function bad(message: string): PolicyCheck {
  return { kind: 'bad', message: `retry policy: ${message}` };
}
