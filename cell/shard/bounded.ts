/** A call out with a deadline: the signal that it is given aborts after `ms` (every call out has one). */
import type { Clock } from '../../kernel/clock.ts';
import { startDeadline } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';

/** Runs `call` with a signal that aborts after `ms`; the call itself must heed it. */
export async function bounded<T>(
  clock: Clock,
  ms: number,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = startDeadline(clock, { what: 'a statement of the shard log', timeoutMs: ms });
  try {
    return await call(deadline.signal);
  } finally {
    deadline.done();
  }
}

/** Waits for `promise`, but no longer than the signal lasts. The promise itself goes on. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(reasonOf(signal));
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Why a signal aborted, as an error that a caller may see. */
export function reasonOf(signal: AbortSignal): AtollError {
  const reason: unknown = signal.reason;
  return reason instanceof AtollError
    ? reason
    : new AtollError('cancelled', 'the call was cancelled by its caller', { cause: reason });
}
