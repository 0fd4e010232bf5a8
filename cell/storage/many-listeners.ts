/** One deadline may cover any number of statements, each of which listens to it: no reason for the platform to warn. */
import { setMaxListeners } from 'node:events';

export function allowManyListeners(...signals: readonly AbortSignal[]): void {
  // A signal that is not the platform's own counts no listeners; an empty list would mean all signals of the process.
  const counting = signals.filter((signal) => signal instanceof EventTarget);
  if (counting.length > 0) setMaxListeners(0, ...counting);
}
