/**
 * The clocks of a shard in memory: what is due next, up to a window (P11). Later ones stay in the timer view and are
 * read when the window has drained (`horizon`).
 *
 * Invariants
 *  1. An entry leaves once: popped when due, removed, or dropped; of the dropped ones the owner is told.
 *  2. At most `window` entries are held, also when many are due at one instant.
 *  3. Nothing that is due before `horizon` was dropped or turned away. Some later ones may be held beside.
 */

export type DueEntry<Item> = { readonly key: string; readonly dueAt: number; readonly item: Item };

type Slot<Item> = { readonly entry: DueEntry<Item>; live: boolean };

export class DueIndex<Item> {
  readonly #window: number;
  readonly #dropped: (entry: DueEntry<Item>) => void;
  readonly #byKey = new Map<string, Slot<Item>>();
  #heap: Slot<Item>[] = [];
  #horizon = Number.POSITIVE_INFINITY;
  #shrinks = 0;

  /** @param dropped told of each entry that had to make room */
  constructor(window: number, dropped: (entry: DueEntry<Item>) => void = () => {}) {
    this.#window = window;
    this.#dropped = dropped;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** What is due later is turned away; what is due at this time or later may be known to the view alone. */
  get horizon(): number {
    return this.#horizon;
  }

  /** How often entries were dropped: who fills the window stops when this grows. */
  get shrinks(): number {
    return this.#shrinks;
  }

  /** There may be entries at the horizon or beyond, and there is room for them or nothing before them is left. */
  get wantsMore(): boolean {
    if (this.#horizon === Number.POSITIVE_INFINITY) return false;
    return this.#byKey.size < this.#window / 4 || (this.next() ?? this.#horizon) > this.#horizon;
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /**
   * Adds or moves an entry; false when it is left to the view.
   * @param beyond hold it although it lies beyond the horizon: the view was just read there
   */
  set(entry: DueEntry<Item>, beyond = false): boolean {
    const known = this.#byKey.get(entry.key);
    if (known?.entry.dueAt === entry.dueAt) return true;
    if (known) this.remove(entry.key);
    if (entry.dueAt > this.#horizon && !beyond) return false;
    const slot = { entry, live: true };
    this.#byKey.set(entry.key, slot);
    this.#push(slot);
    if (this.#byKey.size > this.#window) this.#shrink();
    return slot.live;
  }

  remove(key: string): void {
    const slot = this.#byKey.get(key);
    if (!slot) return;
    slot.live = false;
    this.#byKey.delete(key);
    if (this.#heap.length > 64 && this.#heap.length > 2 * this.#byKey.size) this.#compact();
  }

  /** Removes many in one pass; nobody is told of them. */
  removeAll(of: (item: Item) => boolean): void {
    for (const [key, slot] of this.#byKey) {
      if (!of(slot.entry.item)) continue;
      slot.live = false;
      this.#byKey.delete(key);
    }
    this.#compact();
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

  /** What was read of the view counts no more, nor does a read under way. */
  restart(): void {
    this.#horizon = 0;
    this.#shrinks += 1;
  }

  /** The view was read up to here (infinity = to its end). */
  setHorizon(horizon: number): void {
    this.#horizon = horizon;
  }

  /** Keeps the earlier half; the rest is found again in the view. */
  #shrink(): void {
    const slots = [...this.#byKey.values()].sort((a, b) => a.entry.dueAt - b.entry.dueAt);
    const dropped = slots.splice(Math.max(1, Math.floor(this.#window / 2)));
    this.#horizon = Math.min(this.#horizon, dropped[0]?.entry.dueAt ?? this.#horizon);
    this.#shrinks += 1;
    this.#heap = slots;
    for (const slot of dropped) {
      slot.live = false;
      this.#byKey.delete(slot.entry.key);
    }
    for (const { entry } of dropped) this.#dropped(entry);
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
