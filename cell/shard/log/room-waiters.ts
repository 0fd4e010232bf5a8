/** Callers that wait for room in a shard's tail: bounded, and gone with their call (P11). */
import { orAbort } from '../../../kernel/deadline.ts';
import { AtollError } from '../../../kernel/errors.ts';
import type { ShardId } from '../../storage/shard-log.ts';

export class RoomWaiters {
  readonly #limit: number;
  readonly #waiters = new Set<() => void>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** Resolves at the next `wake`. Errors: `resource-exhausted`, or the signal's reason. */
  async wait(shard: ShardId, signal: AbortSignal): Promise<void> {
    if (this.#waiters.size >= this.#limit) {
      throw new AtollError(
        'resource-exhausted',
        `${this.#limit} callers wait for the checkpoint of shard ${shard} (tailWaiterLimit): try again in a moment`,
      );
    }
    let wake = () => {};
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#waiters.add(wake);
    try {
      await orAbort(woken, signal);
    } finally {
      this.#waiters.delete(wake);
    }
  }

  wake(): void {
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }
}
