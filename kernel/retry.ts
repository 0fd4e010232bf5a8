/**
 * Bounded retries with jittered, exponential back-off, each named (P11).
 *
 * Place: round calls whose failure may pass by itself. What may be tried again is the caller's knowledge, so
 * each attempt says by a value what its failure means; nothing is retried by default.
 *
 * Invariants
 *  1. At most `maxAttempts` attempts, and none after the signal aborted.
 *  2. A wait lies between half and all of min(initial × factor^n, longest): never 0, never in step with others.
 */
import { type Clock, sleep } from './clock.ts';
import { AtollError, toAtollError } from './errors.ts';
import { invariant } from './invariant.ts';
import type { Rng } from './rng.ts';

export type BackOff = {
  /** The retry's name in logs, metrics and errors, such as `fleet-map-load`. */
  readonly name: string;
  readonly initialMs: number;
  readonly maxMs: number;
  /** 2 by default. */
  readonly factor?: number;
  /** The first attempt counts. */
  readonly maxAttempts: number;
};

/** What one attempt came to. `retry` means: it may succeed later; `fatal`: it will not. */
export type Attempt<Result> =
  | { readonly kind: 'done'; readonly value: Result }
  | { readonly kind: 'retry'; readonly error: unknown }
  | { readonly kind: 'fatal'; readonly error: unknown };

export type RetryPorts = {
  readonly clock: Clock;
  readonly rng: Rng;
  /** Ends the attempts, and the wait between them, at once. */
  readonly signal?: AbortSignal | undefined;
  /** Told before each wait: for a log line or a counter. */
  readonly onRetry?: (waited: { attempt: number; waitMs: number; error: unknown }) => void;
};

/** The wait after the `attempt`-th failure (1 is the first), jittered. */
export function backOffMs(policy: BackOff, attempt: number, rng: Rng): number {
  invariant(attempt >= 1, `${policy.name}: back-off after attempt ${attempt}`);
  const factor = policy.factor ?? 2;
  // The exponent is bounded before it is used, so that no power overflows.
  const exponent = Math.min(attempt - 1, 64);
  const full = Math.min(policy.initialMs * factor ** exponent, policy.maxMs);
  return full / 2 + (full / 2) * rng.fraction();
}

/**
 * Attempts until one is done, one is fatal, or the attempts are used up.
 * @throws the fatal error, the signal's reason, or `unavailable` whose cause is the last failure
 */
export async function retry<Result>(
  policy: BackOff,
  ports: RetryPorts,
  attemptOnce: (attempt: number) => Promise<Attempt<Result>>,
): Promise<Result> {
  invariant(policy.maxAttempts >= 1, `${policy.name}: ${policy.maxAttempts} attempts`);
  for (let attempt = 1; ; attempt++) {
    ports.signal?.throwIfAborted();
    const outcome = await attemptOnce(attempt);
    switch (outcome.kind) {
      case 'done':
        return outcome.value;
      case 'fatal':
        throw outcome.error;
      case 'retry':
        if (attempt === policy.maxAttempts) throw usedUp(policy, outcome.error);
        break;
    }
    const waitMs = backOffMs(policy, attempt, ports.rng);
    ports.onRetry?.({ attempt, waitMs, error: outcome.error });
    await sleep(ports.clock, waitMs, ports.signal);
  }
}

function usedUp(policy: BackOff, cause: unknown): AtollError {
  const { message } = toAtollError(cause);
  return new AtollError(
    'unavailable',
    `${policy.name} failed ${policy.maxAttempts} times, the last time because: ${message}`,
    { cause },
  );
}
