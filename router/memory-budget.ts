/**
 * The bytes of requests and answers that a router holds at a time, all calls together (P11): a cell that is slow, or
 * clients that are, must not fill its memory.
 */
import { AtollError } from '../kernel/errors.ts';

export class MemoryBudget {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Holds more, or says why not. What is held already may go over the bound by one answer a call. */
  hold(bytes: number): AtollError | undefined {
    this.#bytes += bytes;
    if (this.#bytes <= this.#maxBytes) return undefined;
    return new AtollError(
      'resource-exhausted',
      `This router holds ${this.#maxBytes} bytes of calls already (bytesOfCalls): try again in a moment.`,
    );
  }

  letGo(bytes: number): void {
    this.#bytes -= bytes;
  }
}
