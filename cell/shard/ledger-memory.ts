/**
 * The ledger of one workflow id in memory (D15): which requests were acknowledged, by request id.
 *
 * Invariants
 *  1. Signals and cancels: at most `signalLimit`, the oldest leaves first.
 *  2. Starts, updates and options: at most `startLimit`; beyond it, entries older than `keepMs` leave, else the next is refused.
 */
import { AtollError } from '../../kernel/errors.ts';
import type { LedgerEntry } from '../history/execution.ts';
import type { Ledger } from '../history/state.ts';

export type LedgerLimits = {
  readonly ledgerStartLimit: number;
  readonly ledgerSignalLimit: number;
  readonly ledgerKeepMs: number;
};

/** An entry with its place in the order of eviction. */
export type NumberedEntry = { readonly ordinal: number; readonly entry: LedgerEntry };

export class LedgerMemory implements Ledger {
  readonly #limits: LedgerLimits;
  readonly #entries = new Map<string, NumberedEntry>();
  #signals = 0;
  #nextOrdinal = 1;

  constructor(limits: LedgerLimits, stored: readonly NumberedEntry[] = []) {
    this.#limits = limits;
    for (const numbered of stored) this.#insert(numbered);
  }

  find(requestId: string): LedgerEntry | undefined {
    return this.#entries.get(requestId)?.entry;
  }

  /** Refuses the next start when the ledger is full of young ones. */
  assertRoomForStart(workflowId: string, now: number): void {
    if (this.#entries.size - this.#signals < this.#limits.ledgerStartLimit) return;
    const oldest = this.#oldest(false);
    if (oldest && now - oldest.entry.at >= this.#limits.ledgerKeepMs) return;
    throw new AtollError(
      'resource-exhausted',
      `workflow id "${workflowId}" was started ${this.#limits.ledgerStartLimit} times within ` +
        `${this.#limits.ledgerKeepMs / 3_600_000} h, the limit of its request ledger: use other workflow ids`,
    );
  }

  /** Adds an entry; returns it numbered, and the entry that had to leave. */
  add(entry: LedgerEntry): {
    readonly added: NumberedEntry;
    readonly evicted?: NumberedEntry | undefined;
  } {
    const added = { ordinal: this.#nextOrdinal, entry };
    this.#insert(added);
    const tooMany = isSignal(entry)
      ? this.#signals > this.#limits.ledgerSignalLimit
      : this.#entries.size - this.#signals > this.#limits.ledgerStartLimit;
    const evicted = tooMany ? this.#oldest(isSignal(entry)) : undefined;
    if (evicted) this.#remove(evicted);
    return { added, evicted };
  }

  #insert(numbered: NumberedEntry): void {
    const before = this.#entries.get(numbered.entry.requestId);
    if (before) this.#remove(before);
    this.#entries.set(numbered.entry.requestId, numbered);
    if (isSignal(numbered.entry)) this.#signals += 1;
    this.#nextOrdinal = Math.max(this.#nextOrdinal, numbered.ordinal + 1);
  }

  #remove({ entry }: NumberedEntry): void {
    this.#entries.delete(entry.requestId);
    if (isSignal(entry)) this.#signals -= 1;
  }

  #oldest(signal: boolean): NumberedEntry | undefined {
    for (const numbered of this.#entries.values()) {
      if (isSignal(numbered.entry) === signal) return numbered;
    }
    return undefined;
  }
}

function isSignal(entry: LedgerEntry): boolean {
  return entry.kind === 'signal' || entry.kind === 'cancel';
}
