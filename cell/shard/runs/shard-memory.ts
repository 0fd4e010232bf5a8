/**
 * An owner's memory of executions and runs, read through from the views: bounded, each object once.
 *
 * Invariants
 *  1. An entry that is not settled is never forgotten, so a view row that is read is never older than what was forgotten.
 *  2. That holds for reads under way too: what was saved after a read began is kept until it ends.
 *  3. Two loads of one key end in the same object, which is kept until one of those who asked has looked.
 *  4. What the store was seen to have lost is kept: no read would bring it back.
 */
import { AtollError } from '../../../kernel/errors.ts';
import type { CurrentRun, LedgerEntry } from '../../history/execution.ts';
import type { Seq, ShardId } from '../../storage/shard-log.ts';
import type { LedgerRow, RunRow } from '../../storage/views.ts';
import { decodeBlob } from '../blob.ts';
import { CachedExecution, CachedRun } from './cached.ts';
import type { ShardConfig } from '../config.ts';
import type { RunRef, Target } from '../engine.ts';
import type { Removal } from '../log/record-codec.ts';
import { LedgerMemory, type NumberedEntry } from './ledger-memory.ts';
import { PinnedLru } from './lru.ts';
import { RemovedRuns } from './removed-runs.ts';
import type { StoredExecution, ViewLoader } from '../views/view-loader.ts';
import { runOfRow, workRows } from '../views/work-rows.ts';

export type Found = { readonly execution: CachedExecution; readonly run: CachedRun };
export type ExecutionId = { readonly namespaceId: string; readonly workflowId: string };

type Entry = { readonly settled: boolean; readonly isSaved: boolean; readonly savedIn: number };
/** A read of views under way; `from` = the saves that had ended when it began. */
type Read = { readonly from: number };
type MemoryConfig = Pick<
  ShardConfig,
  'cachedRunLimit' | 'ledgerStartLimit' | 'ledgerSignalLimit' | 'ledgerKeepMs'
>;

export class ShardMemory {
  /** Removed, and not yet deleted: what the views hold of them is nothing. */
  readonly removed = new RemovedRuns();
  readonly #shard: ShardId;
  readonly #loader: ViewLoader;
  readonly #config: MemoryConfig;
  readonly #runs: PinnedLru<CachedRun>;
  readonly #executions: PinnedLru<CachedExecution>;
  readonly #loading = new Map<string, Promise<boolean>>();
  /** In the order in which they began. */
  readonly #reads = new Set<Read>();
  #saves = 0;
  #holding = 0;
  /** The newest change that any run had which is not in memory. */
  #forgottenSeq: Seq;

  constructor(options: {
    readonly shard: ShardId;
    readonly loader: ViewLoader;
    readonly config: MemoryConfig;
    /** The shard's last row: what changed until then may be in the views alone. */
    readonly end: Seq;
  }) {
    this.#forgottenSeq = options.end;
    this.#shard = options.shard;
    this.#loader = options.loader;
    this.#config = options.config;
    const mayForget = (entry: Entry) => this.#mayForget(entry);
    const forgotten = ({ committedSeq: seq }: CachedRun) => {
      if (seq > this.#forgottenSeq) this.#forgottenSeq = seq;
    };
    this.#runs = new PinnedLru<CachedRun>(options.config.cachedRunLimit, mayForget, forgotten);
    this.#executions = new PinnedLru<CachedExecution>(options.config.cachedRunLimit, mayForget);
  }

  get size(): number {
    return this.#runs.size;
  }

  /** What is in memory, without waiting. */
  peekExecution(id: ExecutionId): CachedExecution | undefined {
    const execution = this.#executions.get(executionKey(id));
    if (execution) execution.fresh = false;
    return execution;
  }

  /** Where the workflow id points, if memory knows; a look that counts as none. */
  pointerOf(id: ExecutionId): CurrentRun | undefined {
    return this.#executions.peek(executionKey(id))?.current;
  }

  peekRun(ref: RunRef): CachedRun | undefined {
    const run = sameRun(this.#runs.get(ref.runId), ref);
    if (run) run.fresh = false;
    return run;
  }

  peek(target: Target): Found | undefined {
    const execution = this.peekExecution(target);
    const run = execution && this.peekRun(runOf(target, execution));
    return run ? { execution, run } : undefined;
  }

  cachedRuns(): IterableIterator<CachedRun> {
    return this.#runs.values();
  }

  /** The runs that changed after a seq of the log, if memory holds them all. */
  changedAfter(seq: Seq): readonly CachedRun[] | undefined {
    if (seq < this.#forgottenSeq) return undefined;
    return [...this.#runs.values()].filter((run) => run.committedSeq > seq);
  }

  addRun(run: CachedRun): void {
    this.#runs.set(run.ref.runId, run);
  }

  addExecution(execution: CachedExecution): void {
    this.#executions.set(executionKey(execution), execution);
  }

  newLedger(stored: readonly NumberedEntry[] = []): LedgerMemory {
    return new LedgerMemory(this.#config, stored);
  }

  /** A checkpoint was taken by the store; returns its number, for the entries that it saved. */
  saved(): number {
    this.#saves += 1;
    return this.#saves;
  }

  /** Forgets a run and its workflow id if nothing is lost by it: the next look reads what is stored. */
  forget(ref: RunRef): void {
    const run = this.peekRun(ref);
    const execution = this.peekExecution(ref);
    if (run && this.#mayForget(run)) this.#runs.delete(ref.runId);
    if (execution && this.#mayForget(execution)) this.#executions.delete(executionKey(ref));
  }

  /**
   * Whether the store lacks a row that it took: of the run, of its workflow id, of the ledger. What no checkpoint covers, what
   * one saves meanwhile and what is removed is no loss. To be proven current by who asks: another owner may have removed it.
   */
  async lacksRows(ref: RunRef): Promise<boolean> {
    const { namespaceId, workflowId, runId } = ref;
    const key = { namespaceId, workflowId, shard: this.#shard };
    const saves = this.#saves;
    const held = () => ({
      run: savedUntil(saves, sameRun(this.#runs.peek(runId), ref)),
      execution: savedUntil(saves, this.#executions.peek(executionKey(ref))),
    });
    const { run, execution } = held();
    if (!run && !execution) return false;
    const [row, stored] = await Promise.all([
      this.#loader.run({ ...key, runId }),
      this.#loader.execution(key),
    ]);
    const now = held();
    if (run) run.unstored = now.run === run && !row;
    if (execution) execution.unstored = now.execution === execution && lacks(stored, execution);
    return run?.unstored === true || execution?.unstored === true;
  }

  /** Forgets what is over the bound; called when a checkpoint made entries forgettable. */
  trim(): void {
    this.#runs.trim();
    this.#executions.trim();
  }

  /**
   * Reads views and uses what was read: until it ends nothing is forgotten that is newer than what it may read
   * (invariant 2). `use` and the end of the read are one turn.
   */
  async reading<Rows, Result>(
    read: () => Promise<Rows>,
    use: (rows: Rows) => Result,
  ): Promise<Result> {
    const mine = { from: this.#saves };
    this.#reads.add(mine);
    try {
      return use(await read());
    } finally {
      this.#reads.delete(mine);
    }
  }

  /** Forgets nothing meanwhile: whoever loads many needs all of them at hand, however many they are. */
  async holding(work: () => Promise<void>): Promise<void> {
    this.#holding += 1;
    try {
      await work();
    } finally {
      this.#holding -= 1;
    }
  }

  /**
   * Runs that changed, or were saved, since a `reading` began that may not have seen it; and those with a start in memory
   * alone, of which no view knows.
   */
  *newerThan(saves: number): Iterable<CachedRun> {
    for (const run of this.#runs.values()) {
      if (run.dirty || run.savedIn > saves || run.liveStart(run.head)) yield run;
    }
  }

  get saves(): number {
    return this.#saves;
  }

  /**
   * Loads what the views hold of the target, unless memory has it. Look with `peek` afterwards: memory may be so short
   * that it is forgotten again. False: there is none.
   */
  async load(target: Target): Promise<boolean> {
    if (!(await this.loadExecution(target))) return false;
    const execution = this.peekExecution(target);
    if (!execution) return true;
    execution.fresh = true; // Kept while its run loads.
    try {
      const exists = await this.loadRun(runOf(target, execution));
      if (!exists) execution.fresh = false;
      return exists;
    } catch (error) {
      execution.fresh = false;
      throw error;
    }
  }

  loadRun(ref: RunRef): Promise<boolean> {
    if (this.peekRun(ref)) return Promise.resolve(true);
    return this.#once(`run/${ref.runId}/${executionKey(ref)}`, async () => {
      if (this.removed.size > 0) await this.removed.settled(ref);
      return this.reading(
        () => this.#loader.run({ ...ref, shard: this.#shard }),
        (row) => {
          if (this.peekRun(ref)) return true;
          if (row) this.addRun(freshly(cachedRunOf(row)));
          return row !== undefined;
        },
      );
    });
  }

  loadExecution(id: ExecutionId): Promise<boolean> {
    if (this.peekExecution(id)) return Promise.resolve(true);
    const { namespaceId, workflowId } = id;
    return this.#once(`execution/${executionKey(id)}`, async () => {
      if (this.removed.size > 0) await this.removed.settled({ namespaceId, workflowId });
      return this.reading(
        () => this.#loader.execution({ ...id, shard: this.#shard }),
        (stored) => {
          if (this.peekExecution(id)) return true;
          if (stored) this.addExecution(freshly(this.#executionOf(stored)));
          return stored !== undefined;
        },
      );
    });
  }

  /** Request ids of the ledger rows as they are stored, also of a workflow id that cannot be read. */
  async storedRequests({ namespaceId, workflowId }: ExecutionId): Promise<readonly string[]> {
    const key = { namespaceId, workflowId, shard: this.#shard };
    const stored = await this.#loader.execution(key);
    return stored?.ledger.map(({ requestId }) => requestId) ?? [];
  }

  /** A run is no more, and with it its workflow id if it pointed to it. */
  remove(removal: Removal): void {
    const run = this.peekRun(removal);
    const { namespaceId, workflowId, runId } = removal;
    const timers = [...(run?.storedWork ?? [])].flatMap(([work, dueAt]) =>
      dueAt === undefined ? [] : [{ namespaceId, workflowId, runId, work, dueAt }],
    );
    this.removed.add({ removal, timers });
    this.#runs.delete(runId);
    if (removal.execution) this.#executions.delete(executionKey(removal));
  }

  #executionOf({ row, ledger }: StoredExecution): CachedExecution {
    return new CachedExecution({
      namespaceId: row.namespaceId,
      workflowId: row.workflowId,
      current: decodeBlob(row.pointer, 'execution') as CurrentRun,
      committed: true,
      ledger: this.newLedger(ledger.map(numbered)),
      viewSeq: row.seq,
    });
  }

  #mayForget({ settled, savedIn }: Entry): boolean {
    if (!settled || this.#holding > 0) return false;
    const [oldest] = this.#reads;
    return !oldest || savedIn <= oldest.from;
  }

  /** Joins loads of the same key that are under way. */
  #once(key: string, load: () => Promise<boolean>): Promise<boolean> {
    const under = this.#loading.get(key);
    if (under) return under;
    const loading = load().finally(() => this.#loading.delete(key));
    this.#loading.set(key, loading);
    return loading;
  }
}

/** A run id may have been asked for under another workflow id. */
function sameRun(run: CachedRun | undefined, ref: RunRef): CachedRun | undefined {
  const same = run?.ref.workflowId === ref.workflowId && run.ref.namespaceId === ref.namespaceId;
  return same ? run : undefined;
}

/** The entry, if the store has taken it as it is, by one of so many saves. */
function savedUntil<Kept extends Entry>(saves: number, entry: Kept | undefined): Kept | undefined {
  return entry?.isSaved && entry.savedIn <= saves ? entry : undefined;
}

/** Whether what is stored of a workflow id is less than what memory had saved. */
function lacks(stored: StoredExecution | undefined, execution: CachedExecution): boolean {
  if (!stored) return true;
  const ids = new Set(stored.ledger.map(({ requestId }) => requestId));
  return execution.durableLedger().some(({ requestId }) => !ids.has(requestId));
}

function freshly<Kept extends { fresh: boolean }>(loaded: Kept): Kept {
  loaded.fresh = true;
  return loaded;
}

function runOf(target: Target, execution: CachedExecution): RunRef {
  const { namespaceId, workflowId } = target;
  return { namespaceId, workflowId, runId: target.runId ?? execution.current.runId };
}

/** Errors: `data-loss` for a row that cannot be what was stored. */
function cachedRunOf(row: RunRow): CachedRun {
  const { namespaceId, workflowId, runId } = row;
  const { state, branch, storedWork } = readable(`the row of run ${runId}`, () => {
    const read = runOfRow(row);
    return { ...read, storedWork: workRows(read.state) };
  });
  const isOf =
    state.runId === runId && state.workflowId === workflowId && state.namespaceId === namespaceId;
  if (!isOf || (state.closedAt === undefined) !== row.open) {
    const what = isOf ? 'open or closed' : `run ${state.runId}`;
    throw new AtollError('data-loss', `the row of run ${runId} holds another state: ${what}`);
  }
  const ref = { namespaceId, workflowId, runId };
  return new CachedRun({ ref, head: state, committed: state, seq: row.seq, storedWork, branch });
}

function numbered(row: LedgerRow): NumberedEntry {
  const entry = decodeBlob(row.entry, 'ledger') as LedgerEntry;
  if (entry.requestId === row.requestId) return { ordinal: row.ordinal, entry };
  throw new AtollError(
    'data-loss',
    `the ledger row of request ${row.requestId} holds request ${entry.requestId}`,
  );
}

/** What is damaged may decode into anything: whatever breaks on it says no more than that. */
function readable<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof AtollError) throw cause;
    throw new AtollError('data-loss', `${what} is damaged`, { cause });
  }
}

function executionKey(id: ExecutionId): string {
  return `${id.namespaceId}/${id.workflowId}`;
}
