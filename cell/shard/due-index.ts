/**
 * The clocks of a shard in memory: what is due next, up to a window (P11). Later ones stay in the timer view and are
 * read when the window has drained (`horizon`).
 *
 * Invariants
 *  1. An entry leaves once: popped when due, removed, or dropped beyond the horizon.
 *  2. Every known entry is due at or before `horizon`.
 */

export type DueEntry<Item> = { readonly key: string; readonly dueAt: number; readonly item: Item };

type Slot<Item> = { readonly entry: DueEntry<Item>; live: boolean };

export class DueIndex<Item> {
  readonly #window: number;
  readonly #byKey = new Map<string, Slot<Item>>();
  #heap: Slot<Item>[] = [];
  #horizon = Number.POSITIVE_INFINITY;

  constructor(window: number) {
    this.#window = window;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Entries due later than this are not held here. */
  get horizon(): number {
    return this.#horizon;
  }

  /** True when the window has room and there may be entries beyond the horizon. */
  get wantsMore(): boolean {
    return this.#horizon !== Number.POSITIVE_INFINITY && this.#byKey.size < this.#window / 4;
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** Adds or moves an entry; one beyond the horizon is left to the view. */
  set(entry: DueEntry<Item>): void {
    const known = this.#byKey.get(entry.key);
    if (known?.entry.dueAt === entry.dueAt) return;
    if (known) this.remove(entry.key);
    if (entry.dueAt > this.#horizon) return;
    const slot = { entry, live: true };
    this.#byKey.set(entry.key, slot);
    this.#push(slot);
    if (this.#byKey.size > this.#window) this.#shrink();
  }

  remove(key: string): void {
    const slot = this.#byKey.get(key);
    if (!slot) return;
    slot.live = false;
    this.#byKey.delete(key);
    if (this.#heap.length > 64 && this.#heap.length > 2 * this.#byKey.size) this.#compact();
  }

  /** Due time of the earliest entry. */
  next(): number | undefined {
    while (this.#heap[0] && !this.#heap[0].live) this.#pop();
    return this.#heap[0]?.entry.dueAt;
  }

  /** Takes the earliest entry if it is due. */
  take(now: number): DueEntry<Item> | undefined {
    const next = this.next();
    if (next === undefined || next > now) return undefined;
    const slot = this.#pop();
    if (!slot) return undefined;
    this.#byKey.delete(slot.entry.key);
    return slot.entry;
  }

  /** The view was read up to here (infinity = to its end): what is due later is not held here. */
  setHorizon(horizon: number): void {
    const lower = horizon < this.#horizon;
    this.#horizon = horizon;
    if (lower) this.#dropBeyond();
  }

  /** Keeps the earlier half; the rest is found again in the view. */
  #shrink(): void {
    const slots = [...this.#byKey.values()].sort((a, b) => a.entry.dueAt - b.entry.dueAt);
    const kept = slots[Math.floor(slots.length / 2)];
    if (!kept) return;
    this.#horizon = kept.entry.dueAt;
    this.#dropBeyond();
  }

  #dropBeyond(): void {
    for (const slot of this.#byKey.values()) {
      if (slot.entry.dueAt <= this.#horizon) continue;
      slot.live = false;
      this.#byKey.delete(slot.entry.key);
    }
    this.#compact();
  }

  #compact(): void {
    this.#heap = [...this.#byKey.values()].sort((a, b) => a.entry.dueAt - b.entry.dueAt);
  }

  #push(slot: Slot<Item>): void {
    const heap = this.#heap;
    let i = heap.push(slot) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = heap[parent];
      if (!above || above.entry.dueAt <= slot.entry.dueAt) break;
      heap[i] = above;
      i = parent;
    }
    heap[i] = slot;
  }

  #pop(): Slot<Item> | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (!top || !last || top === last) return top;
    let i = 0;
    for (;;) {
      const left = 2 * i + 1;
      const leftSlot = heap[left];
      if (!leftSlot) break;
      const rightSlot = heap[left + 1];
      const child = rightSlot && rightSlot.entry.dueAt < leftSlot.entry.dueAt ? left + 1 : left;
      const slot = heap[child];
      if (!slot || slot.entry.dueAt >= last.entry.dueAt) break;
      heap[i] = slot;
      i = child;
    }
    heap[i] = last;
    return top;
  }
}
