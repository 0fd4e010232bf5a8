/**
 * The pending alarms of a virtual clock, earliest first, in a binary heap.
 *
 * Place: inside `VirtualClock`. A simulated cell sets and cancels far more alarms than ever ring, so a
 * cancelled one only loses its callback and is swept out later.
 *
 * Invariants
 *  1. Alarms leave in order of due time, and those due together in the order in which they were set.
 *  2. Cancelled alarms never leave through `takeDue`, and never outnumber the living by more than 64.
 */
import { invariant } from '../invariant.ts';

/** One alarm. `ring` is undefined once it rang or was cancelled. */
export type Alarm = {
  readonly dueMs: number;
  readonly order: number;
  ring: (() => void) | undefined;
};

const CANCELLED_SLACK = 64;

export class AlarmHeap {
  #heap: Alarm[] = [];
  #cancelled = 0;
  #nextOrder = 0;

  /** The number of alarms that may still ring. */
  get size(): number {
    return this.#heap.length - this.#cancelled;
  }

  /** Adds an alarm that rings at `dueMs`, monotonic. */
  add(dueMs: number, ring: () => void): Alarm {
    const alarm: Alarm = { dueMs, order: this.#nextOrder++, ring };
    this.#heap.push(alarm);
    this.#siftUp(this.#heap.length - 1);
    return alarm;
  }

  /** Silences an alarm; harmless when it rang already. */
  cancel(alarm: Alarm): void {
    if (alarm.ring === undefined) return;
    alarm.ring = undefined;
    this.#cancelled += 1;
    if (this.#cancelled > this.size + CANCELLED_SLACK) this.#sweep();
  }

  /** When the earliest living alarm is due, or undefined when there is none. */
  nextDueMs(): number | undefined {
    this.#dropCancelledTop();
    return this.#heap[0]?.dueMs;
  }

  /** Takes the earliest alarm out if it is due at `nowMs`, and hands back its callback. */
  takeDue(nowMs: number): (() => void) | undefined {
    const dueMs = this.nextDueMs();
    if (dueMs === undefined || dueMs > nowMs) return undefined;
    const alarm = this.#pop();
    const ring = alarm.ring;
    alarm.ring = undefined;
    return ring;
  }

  /** Due times of the living alarms, earliest first. */
  dueTimes(): readonly number[] {
    return this.#heap
      .filter((alarm) => alarm.ring !== undefined)
      .map((alarm) => alarm.dueMs)
      .sort((a, b) => a - b);
  }

  #dropCancelledTop(): void {
    while (this.#heap.length > 0 && this.#at(0).ring === undefined) {
      this.#pop();
      this.#cancelled -= 1;
    }
  }

  #sweep(): void {
    this.#heap = this.#heap.filter((alarm) => alarm.ring !== undefined);
    this.#cancelled = 0;
    for (let i = (this.#heap.length >> 1) - 1; i >= 0; i--) this.#siftDown(i);
  }

  #pop(): Alarm {
    const top = this.#at(0);
    const last = this.#heap.pop();
    if (last !== undefined && last !== top) {
      this.#heap[0] = last;
      this.#siftDown(0);
    }
    return top;
  }

  #siftUp(from: number): void {
    const alarm = this.#at(from);
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(alarm, this.#at(parent))) break;
      this.#heap[index] = this.#at(parent);
      index = parent;
    }
    this.#heap[index] = alarm;
  }

  #siftDown(from: number): void {
    const alarm = this.#at(from);
    const length = this.#heap.length;
    let index = from;
    for (;;) {
      let child = index * 2 + 1;
      if (child >= length) break;
      if (child + 1 < length && isBefore(this.#at(child + 1), this.#at(child))) child += 1;
      if (!isBefore(this.#at(child), alarm)) break;
      this.#heap[index] = this.#at(child);
      index = child;
    }
    this.#heap[index] = alarm;
  }

  #at(index: number): Alarm {
    const alarm = this.#heap[index];
    invariant(alarm !== undefined, `alarm heap: no entry ${index} of ${this.#heap.length}`);
    return alarm;
  }
}

function isBefore(a: Alarm, b: Alarm): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
