/**
 * The ledger of one workflow id in memory (D15): which requests were acknowledged, by request id.
 *
 * Invariants
 *  1. Signals and cancels: at most `ledgerSignalLimit`, the oldest leaves first.
 *  2. Starts, updates and options: at most `ledgerStartLimit`; a start is refused while all of them are younger than
 *     `ledgerKeepMs`, else the oldest leaves.
 *  3. A request id is remembered once; the newer entry counts.
 */
import { AtollError } from '../../../kernel/errors.ts';
import type { LedgerEntry } from '../../history/execution.ts';
import type { Ledger } from '../../history/state.ts';

export type LedgerLimits = {
  readonly ledgerStartLimit: number;
  readonly ledgerSignalLimit: number;
  readonly ledgerKeepMs: number;
};

/** An entry with its place in the order of eviction. */
export type NumberedEntry = { readonly ordinal: number; readonly entry: LedgerEntry };

/** What adding an entry did; it counts for the views only once the entry's record is durable. */
export type LedgerEffect = {
  readonly added: NumberedEntry;
  /** The entry that had to leave for it. */
  readonly evicted?: NumberedEntry | undefined;
};

type Entries = Map<string, NumberedEntry>;

export class LedgerMemory implements Ledger {
  readonly #limits: LedgerLimits;
  readonly #signals: Entries = new Map();
  readonly #starts: Entries = new Map();
  #nextOrdinal = 1;

  constructor(limits: LedgerLimits, stored: readonly NumberedEntry[] = []) {
    this.#limits = limits;
    for (const numbered of stored) this.#insert(numbered);
  }

  get size(): number {
    return this.#signals.size + this.#starts.size;
  }

  /** All entries, oldest first within their kind. */
  entries(): LedgerEntry[] {
    return [...this.#starts.values(), ...this.#signals.values()].map(({ entry }) => entry);
  }

  find(requestId: string): LedgerEntry | undefined {
    return (this.#starts.get(requestId) ?? this.#signals.get(requestId))?.entry;
  }

  /** Refuses the next start when the ledger is full of young ones. */
  assertRoomForStart(workflowId: string, now: number): void {
    const { ledgerStartLimit, ledgerKeepMs } = this.#limits;
    if (this.#starts.size < ledgerStartLimit) return;
    const [oldest] = this.#starts.values();
    if (oldest && now - oldest.entry.at >= ledgerKeepMs) return;
    throw new AtollError(
      'resource-exhausted',
      `workflow id "${workflowId}" was started ${ledgerStartLimit} times within ` +
        `${ledgerKeepMs / 3_600_000} h, the limit of its request ledger (ledgerStartLimit): use other workflow ids`,
    );
  }

  /** Adds an entry; returns it numbered, and the entry that had to leave. */
  add(entry: LedgerEntry): LedgerEffect {
    const added = { ordinal: this.#nextOrdinal, entry };
    const entries = this.#insert(added);
    const { ledgerSignalLimit, ledgerStartLimit } = this.#limits;
    if (entries.size <= (entries === this.#signals ? ledgerSignalLimit : ledgerStartLimit)) {
      return { added };
    }
    const [evicted] = entries.values();
    if (evicted) entries.delete(evicted.entry.requestId);
    return { added, evicted };
  }

  /** Takes an entry out, if it is there. */
  remove(requestId: string): NumberedEntry | undefined {
    const found = this.#starts.get(requestId) ?? this.#signals.get(requestId);
    this.#starts.delete(requestId);
    this.#signals.delete(requestId);
    return found;
  }

  #insert(numbered: NumberedEntry): Entries {
    const { requestId, kind } = numbered.entry;
    this.#signals.delete(requestId);
    this.#starts.delete(requestId);
    const entries = kind === 'signal' || kind === 'cancel' ? this.#signals : this.#starts;
    entries.set(requestId, numbered);
    this.#nextOrdinal = Math.max(this.#nextOrdinal, numbered.ordinal + 1);
    return entries;
  }
}
