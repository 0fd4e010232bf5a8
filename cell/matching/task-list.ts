/**
 * The waiting tasks of one queue: first in, first out, and given-back ones before all others.
 *
 * Invariants
 *  1. Every task that was added leaves exactly once.
 *  2. Adding and taking cost the same at every length.
 */
import type { OfferedTask } from './matching.ts';

/** Taken places at the front are given back to memory once there are this many. */
const COMPACT_AT = 1_024;

export class TaskList {
  /** A stack: the last one given back is the first to go. */
  #returned: OfferedTask[] = [];
  #waiting: OfferedTask[] = [];
  #taken = 0;

  get size(): number {
    return this.#returned.length + this.#waiting.length - this.#taken;
  }

  add(task: OfferedTask): void {
    this.#waiting.push(task);
  }

  addFirst(task: OfferedTask): void {
    this.#returned.push(task);
  }

  /** The next task without taking it. */
  peek(): OfferedTask | undefined {
    return this.#returned.at(-1) ?? this.#waiting[this.#taken];
  }

  take(): OfferedTask | undefined {
    const returned = this.#returned.pop();
    if (returned !== undefined) return returned;
    const next = this.#waiting[this.#taken];
    if (next === undefined) return undefined;
    this.#taken += 1;
    if (this.#taken >= COMPACT_AT && this.#taken * 2 >= this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#taken);
      this.#taken = 0;
    }
    return next;
  }

  takeAll(): readonly OfferedTask[] {
    const all = [...this.#returned.reverse(), ...this.#waiting.slice(this.#taken)];
    this.#returned = [];
    this.#waiting = [];
    this.#taken = 0;
    return all;
  }
}
