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
import { AbortSource } from './abort.ts';
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
  const source = new AbortSource();
  const atMs = clock.monotonicMs() + Math.max(0, timeoutMs);
  if (parent?.aborted) {
    source.abort(parent.reason);
    return { signal: source, atMs, done: () => {} };
  }
  const onParent = () => {
    cancel();
    source.abort(parent?.reason);
  };
  const cancel = clock.after(timeoutMs, () => {
    parent?.removeEventListener('abort', onParent);
    source.abort(new AtollError('deadline-exceeded', `${what} did not end within ${timeoutMs} ms`));
  });
  parent?.addEventListener('abort', onParent, { once: true });
  return {
    signal: source,
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
export function withDeadline<Result>(
  clock: Clock,
  options: DeadlineOptions,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { signal, done } = startDeadline(clock, options);
  // By hand and not with async functions: every call goes through here, several times.
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    const fail = (error: Error) => {
      done();
      reject(error);
    };
    try {
      const succeed = (result: Result) => {
        done();
        resolve(result);
      };
      call(signal).then(succeed, fail);
    } catch (error) {
      fail(error as Error);
    }
  });
}

/** The promise's outcome, or the signal's reason if that comes first. The loser is ignored. */
export function orAbort<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    const over = () => signal.removeEventListener('abort', onAbort);
    promise.then(
      (result) => {
        over();
        resolve(result);
      },
      (error: Error) => {
        over();
        reject(error);
      },
    );
  });
}
