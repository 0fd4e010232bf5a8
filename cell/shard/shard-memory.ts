/**
 * An owner's memory of executions and runs, read through from the views: bounded, each object once.
 *
 * Invariants
 *  1. An entry that is dirty or pending is never forgotten, so a view row that is read is never older than what was
 *     forgotten.
 *  2. Two loads of one key end in the same object.
 */
import type { CurrentRun, LedgerEntry } from '../history/execution.ts';
import { decodeState, type EncodedState } from '../history/state-codec.ts';
import { pendingWork } from '../history/history.ts';
import type { RunState } from '../history/state.ts';
import type { Work } from '../history/work.ts';
import type { ShardId } from '../storage/shard-log.ts';
import type { LedgerRow, RunRow } from '../storage/views.ts';
import { decodeBlob } from './blob.ts';
import { CachedExecution, CachedRun } from './cached.ts';
import type { ShardConfig } from './config.ts';
import type { RunRef } from './engine.ts';
import { LedgerMemory, type NumberedEntry } from './ledger-memory.ts';
import { PinnedLru } from './lru.ts';
import type { ViewLoader } from './view-loader.ts';

export type Found = { readonly execution: CachedExecution; readonly run: CachedRun };
type ExecutionId = { readonly namespaceId: string; readonly workflowId: string };

export class ShardMemory {
  readonly #shard: ShardId;
  readonly #loader: ViewLoader;
  readonly #config: ShardConfig;
  readonly #runs: PinnedLru<CachedRun>;
  readonly #executions: PinnedLru<CachedExecution>;
  readonly #loading = new Map<string, Promise<CachedRun | CachedExecution | undefined>>();

  constructor(options: {
    readonly shard: ShardId;
    readonly loader: ViewLoader;
    readonly config: ShardConfig;
  }) {
    this.#shard = options.shard;
    this.#loader = options.loader;
    this.#config = options.config;
    this.#runs = new PinnedLru(options.config.cachedRunLimit);
    this.#executions = new PinnedLru(options.config.cachedRunLimit);
  }

  /** What is in memory, without waiting. */
  peekExecution(id: ExecutionId): CachedExecution | undefined {
    return this.#executions.get(executionKey(id));
  }

  peekRun(ref: RunRef): CachedRun | undefined {
    return this.#runs.get(runKey(ref));
  }

  cachedRuns(): IterableIterator<CachedRun> {
    return this.#runs.values();
  }

  addRun(run: CachedRun): void {
    this.#runs.set(runKey(run.ref), run);
  }

  addExecution(execution: CachedExecution): void {
    this.#executions.set(executionKey(execution), execution);
  }

  newLedger(stored: readonly NumberedEntry[] = []): LedgerMemory {
    return new LedgerMemory(this.#config, stored);
  }

  /** Forgets what is over the bound; called when a checkpoint made entries evictable. */
  trim(): void {
    this.#runs.trim();
    this.#executions.trim();
  }

  async run(ref: RunRef): Promise<CachedRun | undefined> {
    const known = this.#runs.get(runKey(ref));
    if (known) return known;
    const loaded = await this.#once(`run/${runKey(ref)}`, async () => {
      const row = await this.#loader.run({ ...ref, shard: this.#shard });
      return row ? this.#keepRun(row) : undefined;
    });
    return loaded instanceof CachedRun ? loaded : undefined;
  }

  async execution(id: ExecutionId): Promise<CachedExecution | undefined> {
    const known = this.#executions.get(executionKey(id));
    if (known) return known;
    const loaded = await this.#once(`execution/${executionKey(id)}`, async () => {
      const stored = await this.#loader.execution({ ...id, shard: this.#shard });
      if (!stored) return undefined;
      const made = this.#executions.get(executionKey(id));
      if (made) return made;
      const execution = new CachedExecution({
        namespaceId: id.namespaceId,
        workflowId: id.workflowId,
        current: decodeBlob(stored.row.pointer, 'execution') as CurrentRun,
        committed: true,
        ledger: this.newLedger(stored.ledger.map(numbered)),
        viewSeq: stored.row.seq,
      });
      this.addExecution(execution);
      return execution;
    });
    return loaded instanceof CachedExecution ? loaded : undefined;
  }

  #keepRun(row: RunRow): CachedRun {
    const made = this.#runs.get(runKey(row));
    if (made) return made;
    const state = stateOfRow(row);
    const run = new CachedRun({
      ref: { namespaceId: row.namespaceId, workflowId: row.workflowId, runId: row.runId },
      head: state,
      committed: state,
      seq: row.seq,
      storedWork: workRows(pendingWork(state)),
    });
    this.addRun(run);
    return run;
  }

  /** Joins loads of the same key that are under way. */
  #once(
    key: string,
    load: () => Promise<CachedRun | CachedExecution | undefined>,
  ): Promise<CachedRun | CachedExecution | undefined> {
    const under = this.#loading.get(key);
    if (under) return under;
    const loading = load().finally(() => this.#loading.delete(key));
    this.#loading.set(key, loading);
    return loading;
  }
}

/** The work rows that the views hold of this work: due time of a clock, nothing of a task. */
export function workRows(work: readonly Work[]): Map<string, number | undefined> {
  return new Map(work.map((item) => [item.key, item.kind === 'timer' ? item.dueAt : undefined]));
}

export function stateOfRow(row: { readonly state: Uint8Array }): RunState {
  return decodeState(decodeBlob(row.state, 'run') as EncodedState);
}

function numbered(row: LedgerRow): NumberedEntry {
  return { ordinal: row.ordinal, entry: decodeBlob(row.entry, 'ledger') as LedgerEntry };
}

function executionKey(id: ExecutionId): string {
  return `${id.namespaceId}/${id.workflowId}`;
}

function runKey(ref: RunRef): string {
  return `${ref.runId}/${ref.namespaceId}/${ref.workflowId}`;
}
