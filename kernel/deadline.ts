/**
 * Deadlines as AbortSignals on the Clock port: every call out has one (D12, P11).
 *
 * Place: wherever a call leaves this process or waits for another part. `AbortSignal.timeout` runs on the
 * machine's clock, which the simulator cannot move; this one does not.
 *
 * Invariants
 *  1. The signal aborts at most once: by its deadline (`deadline-exceeded`), or with its parent's reason.
 *  2. After `done` it never aborts, and neither the clock nor the parent holds anything of it.
 */
import type { Clock } from './clock.ts';
import { AtollError } from './errors.ts';

export type DeadlineOptions = {
  /** What has to end in time, for the message: `append to shard 3`. */
  readonly what: string;
  readonly timeoutMs: number;
  /** Aborts the call early, such as a client that is gone. */
  readonly parent?: AbortSignal | undefined;
};

/** A running deadline. Call `done` when the call has ended, in `finally`. */
export type Deadline = {
  readonly signal: AbortSignal;
  /** Monotonic milliseconds at which it is over. */
  readonly atMs: number;
  readonly done: () => void;
};

/** Starts a deadline. A time of 0 or less aborts at the clock's next turn, not inside this call. */
export function startDeadline(clock: Clock, options: DeadlineOptions): Deadline {
  const { what, timeoutMs, parent } = options;
  const controller = new AbortController();
  const atMs = clock.monotonicMs() + Math.max(0, timeoutMs);
  if (parent?.aborted) {
    controller.abort(parent.reason);
    return { signal: controller.signal, atMs, done: () => {} };
  }
  const onParent = () => {
    cancel();
    controller.abort(parent?.reason);
  };
  const cancel = clock.after(timeoutMs, () => {
    parent?.removeEventListener('abort', onParent);
    controller.abort(
      new AtollError('deadline-exceeded', `${what} did not end within ${timeoutMs} ms`),
    );
  });
  parent?.addEventListener('abort', onParent, { once: true });
  return {
    signal: controller.signal,
    atMs,
    done: () => {
      cancel();
      parent?.removeEventListener('abort', onParent);
    },
  };
}

/**
 * Runs `call` under a deadline and waits for it no longer than that, even if it ignores its signal.
 * @throws the deadline's `deadline-exceeded`, the parent's reason, or what the call throws
 */
export async function withDeadline<Result>(
  clock: Clock,
  options: DeadlineOptions,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = startDeadline(clock, options);
  try {
    deadline.signal.throwIfAborted();
    return await orAbort(call(deadline.signal), deadline.signal);
  } finally {
    deadline.done();
  }
}

/** The promise's outcome, or the signal's reason if that comes first. The loser is ignored. */
export function orAbort<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
