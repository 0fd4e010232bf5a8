/** Ends the wait for something that does not itself listen to the caller's deadline. */
import { AtollError } from '../../../kernel/errors.ts';
import { allowManyListeners } from '../many-listeners.ts';

/** The promise, or `deadline-exceeded` as soon as the signal aborts. What the promise stands for goes on. */
export function withSignal<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const giveUp = () =>
      reject(new AtollError('deadline-exceeded', 'the database did not answer in time'));
    if (signal.aborted) giveUp();
    allowManyListeners(signal);
    signal.addEventListener('abort', giveUp, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
