/** One deadline may cover any number of statements, each of which listens to it: no reason for the platform to warn. */
import { setMaxListeners } from 'node:events';

export function allowManyListeners(...signals: readonly AbortSignal[]): void {
  // A signal that is not the platform's own counts no listeners.
  setMaxListeners(0, ...signals.filter((signal) => signal instanceof EventTarget));
}
