import { describe, expect, test } from 'vitest';
import { RetryState, TimeoutType } from '../../wire/enums.ts';
import type { Failure, RetryPolicy } from '../../wire/plain.ts';
import { tableRows } from './activities/testing/describe-outcome.ts';
import { durationMs, toDuration } from './durations.ts';
import { nextRetry, normaliseRetryPolicy } from './retry-policy.ts';

// Policies in words: init, maxint in seconds, coef, max attempts, no = non-retryable type. `none` is no policy.
const policies = `
 given                | policy or why not                                                                    | because
 none                 | init=1 coef=2 maxint=100 max=0                                                       | no policy is the default policy
 init=3               | init=3 coef=2 maxint=300 max=0                                                       | the maximum interval is 100 times the initial one
 init=3 maxint=9      | init=3 coef=2 maxint=9 max=0                                                         | what is given stays
 coef=1 max=5         | init=1 coef=1 maxint=100 max=5                                                       | a coefficient of 1 is allowed
 init=-1              | retry policy: initialInterval is negative (-1000 ms)                                 | negative initial interval
 maxint=-1            | retry policy: maximumInterval is negative (-1000 ms)                                 | negative maximum interval
 coef=0.5             | retry policy: backoffCoefficient is 0.5; it must be at least 1                       | a shrinking back-off
 coef=NaN             | retry policy: backoffCoefficient is NaN; it must be at least 1                       | no number at all
 init=10 maxint=5     | retry policy: maximumInterval (5000 ms) is less than initialInterval (10000 ms)      | intervals the wrong way round
 maxint=0.5           | retry policy: maximumInterval (500 ms) is less than initialInterval (1000 ms)        | against the default too
 max=-1               | retry policy: maximumAttempts is negative (-1)                                       | negative attempts
`;

describe('a retry policy', () => {
  for (const [given = '', expected, because = ''] of tableRows(policies))
    test(because, () => {
      const check = normaliseRetryPolicy(parsePolicy(given));
      expect(check.kind === 'bad' ? check.message : policyWords(check.policy)).toBe(expected);
    });
});

// `ends` is when nothing may start any more, in seconds, 0 = never; now is 100.
const answers = `
 policy              | attempt | ends  | failure              | answer                 | because
 none                | 1       | 0     | app E                | RetryPolicyNotSet      | without a policy nothing is retried
 init=1              | 1       | 0     | app E                | in 1                   | the first back-off is the initial interval
 init=1              | 4       | 0     | app E                | in 8                   | it doubles with each attempt
 init=1 coef=3       | 3       | 0     | app E                | in 9                   | or grows by the coefficient
 init=1              | 20      | 0     | app E                | in 100                 | up to the maximum interval
 init=1              | 5000    | 0     | app E                | in 100                 | however many attempts
 init=1 coef=1.5     | 2       | 0     | app E                | in 1.5                 | parts of seconds count
 max=3               | 2       | 0     | app E                | in 2                   | attempts are left
 max=3               | 3       | 0     | app E                | MaximumAttemptsReached | the third of three was the last
 max=1               | 1       | 0     | app E                | MaximumAttemptsReached | the first of one was the last
 init=1              | 1       | 101   | app E                | in 1                   | a retry may start at the end
 init=1              | 1       | 100.5 | app E                | Timeout                | but not after it
 init=1              | 1       | 0     | -                    | in 1                   | no failure given is retried
 init=1              | 1       | 0     | app E delay=50       | in 50                  | the failure asks for a delay
 init=1 maxint=2     | 1       | 0     | app E delay=50       | in 50                  | which the maximum interval does not bound
 init=1              | 1       | 110   | app E delay=50       | Timeout                | but the end does
 init=1              | 1       | 0     | app E delay=0        | in 0                   | at once
 init=1              | 1       | 0     | app E final          | NonRetryableFailure    | the failure says that it is final
 init=1 no=E         | 1       | 0     | app E                | NonRetryableFailure    | the policy says that the type is final
 init=1 no=E max=1   | 1       | 0     | app E                | NonRetryableFailure    | the failure is judged before the attempts
 init=1 no=E         | 1       | 0     | app F                | in 1                   | another type is not
 init=1              | 1       | 0     | timeout StartToClose | in 1                   | an attempt that took too long
 init=1              | 1       | 0     | timeout Heartbeat    | in 1                   | a worker that went silent
 init=1 no=TemporalTimeout:Heartbeat | 1 | 0 | timeout Heartbeat | NonRetryableFailure   | unless the policy names that timeout
 init=1              | 1       | 0     | timeout ScheduleToStart | NonRetryableFailure | no worker came: another attempt is no help
 init=1              | 1       | 0     | timeout ScheduleToClose | NonRetryableFailure | the whole time is over
 init=1              | 1       | 0     | terminated           | NonRetryableFailure    | termination is final
 init=1              | 1       | 0     | canceled             | NonRetryableFailure    | so is cancellation
 init=1              | 1       | 0     | server               | in 1                   | the server's own failure may pass
 init=1              | 1       | 0     | server final         | NonRetryableFailure    | or may not
`;

describe('the next attempt', () => {
  for (const [policy = '', attempt, ends, failure = '', answer, because = ''] of tableRows(answers))
    test(because, () => {
      const next = nextRetry({
        policy: parsePolicy(policy),
        attempt: Number(attempt),
        now: 100_000,
        expiresAt: Number(ends) * 1000,
        failure: parseFailure(failure),
      });
      expect(next.kind === 'retry' ? `in ${next.delayMs / 1000}` : stateName(next.retryState)).toBe(
        answer,
      );
    });

  test('a delay that the caller gives comes before that of the failure', () => {
    const failure = parseFailure('app E delay=50');
    const question = { policy: {}, attempt: 1, now: 0, expiresAt: 0, failure };
    expect(nextRetry({ ...question, nextRetryDelayMs: 7 })).toEqual({ kind: 'retry', delayMs: 7 });
  });
});

function parsePolicy(words: string): RetryPolicy | undefined {
  if (words === 'none') return undefined;
  const given = new Map(words.split(' ').map((word) => word.split('=') as [string, string]));
  const number = (name: string) => (given.has(name) ? Number(given.get(name)) : undefined);
  const duration = (name: string) => {
    const seconds = number(name);
    return seconds === undefined ? undefined : toDuration(seconds * 1000);
  };
  return {
    initialInterval: duration('init'),
    maximumInterval: duration('maxint'),
    backoffCoefficient: number('coef'),
    maximumAttempts: number('max'),
    nonRetryableErrorTypes: given.has('no') ? [given.get('no') ?? ''] : undefined,
  };
}

function policyWords(policy: RetryPolicy): string {
  const initial = durationMs(policy.initialInterval) / 1000;
  const maximum = durationMs(policy.maximumInterval) / 1000;
  return `init=${initial} coef=${policy.backoffCoefficient} maxint=${maximum} max=${policy.maximumAttempts}`;
}

function parseFailure(words: string): Failure | undefined {
  const [kind = '', type = '', extra = ''] = words.split(' ');
  switch (kind) {
    case 'app':
      return {
        applicationFailureInfo: {
          type,
          nonRetryable: extra === 'final',
          nextRetryDelay: extra.startsWith('delay=')
            ? toDuration(Number(extra.slice('delay='.length)) * 1000)
            : undefined,
        },
      };
    case 'timeout':
      return { timeoutFailureInfo: { timeoutType: TimeoutType[type as keyof typeof TimeoutType] } };
    case 'terminated':
      return { terminatedFailureInfo: {} };
    case 'canceled':
      return { canceledFailureInfo: {} };
    case 'server':
      return { serverFailureInfo: { nonRetryable: type === 'final' } };
    default:
      return undefined;
  }
}

function stateName(state: RetryState): string {
  return Object.entries(RetryState).find(([, number]) => number === state)?.[0] ?? '';
}
