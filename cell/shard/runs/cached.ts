/**
 * What an owner holds in memory of a run and of a workflow id. `head` is the newest decided state; `committed` is the
 * newest durable one: replies, effects, reads and view rows never show more than `committed` (output commit).
 *
 * Invariant: what is not settled (unsaved, undecided, waited for) is never forgotten.
 */
import {
  isSameEntry,
  joined,
  singly,
  type CurrentRun,
  type LedgerEntry,
} from '../../history/execution.ts';
import type { LiveRun } from '../../history/decision.ts';
import type { Lineage } from '../../history/lineage.ts';
import type { ExecutionState, RunState, TaskStart } from '../../history/state.ts';
import type { Seq } from '../../storage/shard-log.ts';
import type { RunRef } from '../engine.ts';
import type { Batch } from '../log/gather.ts';
import type { LedgerEffect, LedgerMemory, NumberedEntry } from './ledger-memory.ts';
import type { Chain } from './run-digest.ts';
import type { RunQueries } from './run-queries.ts';

/** Encoded events `first … last` of a run, in memory. */
export type Chunk = {
  readonly first: number;
  readonly last: number;
  readonly events: Uint8Array;
};

/** A branch of the run that lost against another cell's: its history rows stay, readable (D9). */
export type LostBranch = { readonly historyId: string; readonly lineage: Lineage };

/** Under which id the run's history rows lie (its own until a branch was adopted), and those that lost. */
export type RunBranch = { readonly historyId: string; readonly lost: readonly LostBranch[] };

export class CachedRun {
  readonly ref: RunRef;
  branch: RunBranch;
  /** The seq that the view row reflects: replay skips records at or below it (PROTOCOLS 2.4). */
  readonly viewSeq: Seq;
  head: RunState;
  /** Undefined until the run's first record is durable. */
  committed: RunState | undefined;
  /** The seq that `committed` reflects. */
  committedSeq: Seq;
  /** The batch of the newest decided step, while it is not durable. */
  pending: Batch | undefined;
  /** The last start of a workflow task, memory only or carried since; compared with a state before use (D7). */
  start: TaskStart | undefined;
  /** Recent events, contiguous, up to the newest decided one. Those after `savedEventId` are in no view yet. */
  chunks: Chunk[] = [];
  /** Events decided on another branch that was adopted, while that is not durable. */
  coming: Chunk[] | undefined;
  savedEventId: number;
  /** Events of branches that lost, which no checkpoint holds yet. */
  lostChunks: readonly { readonly historyId: string; readonly chunk: Chunk }[] = [];
  /** `committed` is newer than the run's view row. */
  dirty = false;
  /** The number of the save that wrote the view row; 0 = loaded, or never saved. */
  savedIn = 0;
  /** Loaded for somebody who has not looked yet. */
  fresh = false;
  /** The store was seen to lack what it took of this: memory has the only copy here. */
  unstored = false;
  /** Keys of the work rows in the views: timers and tasks by key, with due times of timers. */
  storedWork: ReadonlyMap<string, number | undefined>;
  /** The transition number that visibility acknowledged, the one that it should show, and the one that is queued for it. */
  indexed = 0;
  indexWanted = 0;
  indexQueued = 0;
  /** Ends long polls: called at each commit. */
  readonly waiters = new Set<() => void>();
  queries: RunQueries | undefined;
  /** Heartbeat clocks were granted an interval: once per ownership or promotion (PROTOCOLS 2.5, D16). */
  granted = false;
  /** How far its digest's chain was computed, in this branch (PROTOCOLS 10). */
  chain: { readonly historyId: string; readonly chain: Chain } | undefined;
  /** A workflow task of an older epoch is being failed (BEHAVIOURS 26). */
  failingOver = false;

  constructor(options: {
    readonly ref: RunRef;
    readonly head: RunState;
    readonly committed: RunState | undefined;
    readonly seq: Seq;
    readonly storedWork: ReadonlyMap<string, number | undefined>;
    readonly branch?: RunBranch | undefined;
  }) {
    this.ref = options.ref;
    this.branch = options.branch ?? { historyId: options.ref.runId, lost: [] };
    this.head = options.head;
    this.committed = options.committed;
    this.viewSeq = options.seq;
    this.committedSeq = options.seq;
    this.storedWork = options.storedWork;
    this.savedEventId = options.committed ? options.committed.nextEventId - 1 : 0;
  }

  /** The start that still holds for `state`: its task is the pending one and no record carries the start yet. */
  liveStart(state: RunState): TaskStart | undefined {
    const { start } = this;
    const task = state.workflowTask;
    if (!start || !task || task.started) return undefined;
    const same = task.scheduledEventId === start.scheduledEventId && task.attempt === start.attempt;
    return same ? start : undefined;
  }

  /** The run as `decide` takes it. */
  get live(): LiveRun {
    const start = this.liveStart(this.head);
    return start ? { state: this.head, start } : { state: this.head };
  }

  wakeWaiters(): void {
    for (const wake of [...this.waiters]) wake();
  }

  /** The store took it as it is, or had it so. */
  get isSaved(): boolean {
    return this.committed !== undefined && !this.dirty;
  }

  /** Nothing in memory would be lost by forgetting the run. */
  get settled(): boolean {
    return (
      this.isSaved &&
      !this.fresh &&
      !this.unstored &&
      !this.pending &&
      this.indexQueued === 0 &&
      this.waiters.size === 0 &&
      !this.queries?.busy &&
      !this.liveStart(this.head)
    );
  }
}

export class CachedExecution {
  readonly namespaceId: string;
  readonly workflowId: string;
  current: CurrentRun;
  readonly ledger: LedgerMemory;
  /** The seq that the view row reflects: replay skips records at or below it (PROTOCOLS 2.4). */
  readonly viewSeq: Seq;
  committedCurrent: CurrentRun | undefined;
  pending: Batch | undefined;
  dirty = false;
  /** As of a run. */
  savedIn = 0;
  fresh = false;
  /** As of a run. */
  unstored = false;
  /** Ledger rows that the next checkpoint writes and deletes, by request id: those of durable records only. */
  readonly ledgerPuts = new Map<string, NumberedEntry>();
  readonly ledgerDrops = new Map<string, NumberedEntry>();
  /** Decided entries whose record is not durable yet. */
  readonly #unsaved = new Map<LedgerEntry, LedgerEffect>();
  /** Entries taken out by a record that is not durable yet. */
  readonly #forgotten = new Map<string, NumberedEntry>();

  constructor(options: {
    readonly namespaceId: string;
    readonly workflowId: string;
    readonly current: CurrentRun;
    readonly committed: boolean;
    readonly ledger: LedgerMemory;
    readonly viewSeq: Seq;
  }) {
    this.viewSeq = options.viewSeq;
    this.namespaceId = options.namespaceId;
    this.workflowId = options.workflowId;
    this.current = options.current;
    this.committedCurrent = options.committed ? options.current : undefined;
    this.ledger = options.ledger;
  }

  /** The newest decided state, as `decideStart` takes it. */
  get head(): ExecutionState {
    const { namespaceId, workflowId, current, ledger } = this;
    return { namespaceId, workflowId, current, ledger };
  }

  /** Remembers a decided entry, beside what else is known of its request. */
  addEntry(entry: LedgerEntry): void {
    const known = this.ledger.find(entry.requestId);
    const all = joined(known, entry);
    if (all !== known) this.#unsaved.set(entry, this.ledger.add(all));
  }

  /** Takes a decided entry out again: the branch that had taken the request has lost. */
  forgetEntry(requestId: string): void {
    const removed = this.ledger.remove(requestId) ?? unread(requestId);
    this.#forgotten.set(requestId, removed);
  }

  /** The record that says so is durable. */
  commitForgotten(requestId: string): void {
    const removed = this.#forgotten.get(requestId);
    if (!removed) return;
    this.#forgotten.delete(requestId);
    this.ledgerPuts.delete(requestId);
    this.ledgerDrops.set(requestId, removed);
  }

  /** The entries whose records are durable. */
  durableLedger(): readonly LedgerEntry[] {
    const entries = this.ledger.entries();
    if (this.#unsaved.size === 0) return entries;
    const unsaved = new Map<string, LedgerEntry[]>();
    for (const entry of this.#unsaved.keys()) {
      const { requestId } = entry;
      unsaved.set(requestId, [...(unsaved.get(requestId) ?? []), ...singly(entry)]);
    }
    return entries.flatMap((entry) => without(entry, unsaved.get(entry.requestId) ?? []));
  }

  /** The record that holds this entry is durable. */
  commitEntry(entry: LedgerEntry): void {
    const effect = this.#unsaved.get(entry);
    if (!effect) return;
    this.#unsaved.delete(entry);
    this.ledgerPuts.set(entry.requestId, effect.added);
    this.ledgerDrops.delete(entry.requestId);
    if (!effect.evicted) return;
    const { requestId } = effect.evicted.entry;
    this.ledgerPuts.delete(requestId);
    this.ledgerDrops.set(requestId, effect.evicted);
  }

  /** As of a run. */
  get isSaved(): boolean {
    return this.committedCurrent !== undefined && !this.dirty;
  }

  /** Nothing in memory would be lost by forgetting it. */
  get settled(): boolean {
    return this.isSaved && !this.fresh && !this.unstored && !this.pending;
  }
}

/** What is left of the entry without these: one entry, or none. */
function without(entry: LedgerEntry, unsaved: readonly LedgerEntry[]): readonly LedgerEntry[] {
  if (unsaved.length === 0) return [entry];
  const left = singly(entry).filter((one) => !unsaved.some((other) => isSameEntry(one, other)));
  const [first, ...covered] = left;
  return first ? [{ ...first, ...(covered.length > 0 ? { covered } : {}) }] : [];
}

/** Stands for a row that could not be read, to be deleted by its key. */
function unread(requestId: string): NumberedEntry {
  return { ordinal: 0, entry: { requestId, kind: 'signal', runId: '', at: 0 } };
}
