/**
 * Turns of the lanes at one target: so many pushes at a time, the others in the order in which they came (P10, P11).
 *
 * Invariants
 *  1. At most `slots` hold a turn; every turn is given back exactly once, whatever became of the push.
 */
import { orAbort } from '../../kernel/deadline.ts';

export class PushSlots {
  #free: number;
  #queue: (() => void)[] = [];

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Runs `push` when its turn has come. @throws the signal's reason when it ends before that, or what the push throws */
  async run<Result>(signal: AbortSignal, push: () => Promise<Result>): Promise<Result> {
    await this.#turn(signal);
    try {
      return await push();
    } finally {
      this.#giveBack();
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    let mine: () => void = () => {};
    const turn = new Promise<void>((resolve) => {
      mine = resolve;
      this.#queue.push(mine);
    });
    try {
      await orAbort(turn, signal);
    } catch (error) {
      // A turn that was handed over in the same moment goes on to the next.
      if (this.#queue.includes(mine)) this.#queue = this.#queue.filter((one) => one !== mine);
      else this.#giveBack();
      throw error;
    }
  }

  #giveBack(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
