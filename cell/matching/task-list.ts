/**
 * The waiting tasks of one queue: the one that was scheduled first leaves first, and given-back ones before all others.
 *
 * Age and not the order of coming decides: after a takeover tasks come in the order in which they were found, and what
 * lies late in that order would starve where owners come and go.
 *
 * Invariants
 *  1. Every task that was added leaves exactly once.
 *  2. Of tasks scheduled at one time, the first added leaves first.
 *  3. Adding and taking cost a few comparisons at every length: it is a binary heap.
 */
import type { OfferedTask } from './matching.ts';

type Waiting = { readonly task: OfferedTask; readonly order: number };

export class TaskList {
  /** A stack: the last one given back is the first to go. */
  #returned: OfferedTask[] = [];
  #heap: Waiting[] = [];
  #added = 0;

  get size(): number {
    return this.#returned.length + this.#heap.length;
  }

  add(task: OfferedTask): void {
    const heap = this.#heap;
    const added = { task, order: this.#added++ };
    let place = heap.push(added) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (!parent || isBefore(parent, added)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = added;
  }

  addFirst(task: OfferedTask): void {
    this.#returned.push(task);
  }

  /** The next task without taking it. */
  peek(): OfferedTask | undefined {
    return this.#returned.at(-1) ?? this.#heap[0]?.task;
  }

  take(): OfferedTask | undefined {
    const returned = this.#returned.pop();
    if (returned !== undefined) return returned;
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (first && last && first !== last) this.#sink(last);
    return first?.task;
  }

  takeAll(): readonly OfferedTask[] {
    const waiting = this.#heap.sort((a, b) => (isBefore(a, b) ? -1 : 1)).map(({ task }) => task);
    const all = [...this.#returned.reverse(), ...waiting];
    this.#returned = [];
    this.#heap = [];
    return all;
  }

  /** Puts an entry in the place of the first one, and below all that are before it. */
  #sink(entry: Waiting): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      const left = heap[2 * place + 1];
      const right = heap[2 * place + 2];
      const child = right && left && isBefore(right, left) ? right : left;
      if (!child || isBefore(entry, child)) break;
      heap[place] = child;
      place = 2 * place + (child === left ? 1 : 2);
    }
    heap[place] = entry;
  }
}

function isBefore(a: Waiting, b: Waiting): boolean {
  const earlier = a.task.scheduledAt - b.task.scheduledAt;
  return earlier === 0 ? a.order < b.order : earlier < 0;
}
