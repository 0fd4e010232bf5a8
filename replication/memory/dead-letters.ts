/** Dead letters in memory: for cells in memory, tests and the simulator. Bounded; the oldest repaired ones leave first. */
import type { DeadLetter, DeadLetters, LetterLane } from '../dead-letters.ts';

const MAX_LETTERS = 10_000;

export class MemoryDeadLetters implements DeadLetters {
  readonly #letters = new Map<string, DeadLetter>();

  async add(letter: DeadLetter): Promise<void> {
    const key = [letter.namespaceId, letter.target, letter.runId, letter.transition].join('/');
    this.#letters.set(key, letter);
    if (this.#letters.size <= MAX_LETTERS) return;
    const entries = [...this.#letters];
    const [oldest] = entries.find(([, one]) => one.repairedAt !== undefined) ?? entries[0] ?? [];
    if (oldest !== undefined) this.#letters.delete(oldest);
  }

  async repaired(lane: LetterLane, run: { runId: string; at: number }): Promise<void> {
    for (const [key, letter] of this.#letters) {
      if (!isOf(lane, letter) || letter.runId !== run.runId) continue;
      if (letter.repairedAt === undefined)
        this.#letters.set(key, { ...letter, repairedAt: run.at });
    }
  }

  async list(
    lane: LetterLane,
    options: { readonly repairedToo: boolean; readonly limit: number },
  ): Promise<readonly DeadLetter[]> {
    return [...this.#letters.values()]
      .filter((one) => isOf(lane, one) && (options.repairedToo || one.repairedAt === undefined))
      .sort((a, b) => a.at - b.at || a.transition - b.transition)
      .slice(0, options.limit);
  }
}

function isOf(lane: LetterLane, letter: DeadLetter): boolean {
  return letter.namespaceId === lane.namespaceId && letter.target === lane.target;
}
