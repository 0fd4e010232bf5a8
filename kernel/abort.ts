/**
 * An AbortSignal that is its own controller, for calls of which there are thousands a second: the platform's pair is an
 * EventTarget with weak references and costs some ten times as much to make, listen to and let go.
 *
 * Place: deadlines (deadline.ts) and calls (rpc/server-call.ts) make one each. Whoever gets it sees an AbortSignal.
 *
 * Invariants
 *  1. It aborts at most once; its listeners hear of it once, in the order in which they came, and are gone then.
 *  2. A listener that was taken back, or added after the abort, is never called: as with the platform's.
 *  3. It hears `abort` alone: nobody may dispatch other events on it.
 */
import { invariant } from './invariant.ts';

type Listener = ((event: Event) => void) | { handleEvent(event: Event): void };

export class AbortSource implements AbortSignal {
  onabort: ((this: AbortSignal, event: Event) => unknown) | null = null;
  #reason: unknown;
  #aborted = false;
  /** One listener is the usual case and needs no list. */
  #first: Listener | undefined;
  #more: Listener[] | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** Aborts, unless it was aborted before. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    if (this.#first === undefined && this.onabort === null) return;
    const event = new Event('abort');
    this.onabort?.call(this, event);
    // Each is taken off before it is called, so that a listener can still take another one back.
    for (let next = this.#next(); next !== undefined; next = this.#next()) tell(next, event);
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  addEventListener(type: string, listener: Listener | null): void {
    if (type !== 'abort' || listener === null || this.#aborted) return;
    if (this.#first === listener || this.#more?.includes(listener)) return;
    // While there is no first one there are no more.
    if (this.#first === undefined) this.#first = listener;
    else (this.#more ??= []).push(listener);
  }

  removeEventListener(type: string, listener: Listener | null): void {
    if (type !== 'abort' || listener === null) return;
    if (this.#first === listener) return void this.#next();
    const at = this.#more?.indexOf(listener) ?? -1;
    if (at >= 0) this.#more?.splice(at, 1);
  }

  dispatchEvent(): never {
    invariant(false, 'an abort source aborts; events are not dispatched on it');
  }

  /** Takes the first listener off. */
  #next(): Listener | undefined {
    const first = this.#first;
    this.#first = this.#more?.shift();
    return first;
  }
}

function tell(listener: Listener, event: Event): void {
  if (typeof listener === 'function') listener(event);
  else listener.handleEvent(event);
}
