/** `ShardViews` in memory: each call is one statement of its store, with whatever fate that has. */
import type { Seq, ShardId } from '../shard-log.ts';
import type {
  ExecutionKey,
  ExecutionRow,
  HistoryRow,
  LedgerRow,
  Page,
  RunKey,
  RunRow,
  ShardViews,
  TaskRow,
  TimerRow,
} from '../views.ts';
import type { MemoryDatabase } from './memory-database.ts';
import { executionKey, runKey } from './tables.ts';

type Placed<Key> = Key & { readonly shard: ShardId };
type PageRequest = { readonly after?: string | undefined; readonly limit: number };

/** Reads in one statement. */
export type Read = <Result>(
  shards: readonly ShardId[],
  read: () => Result,
  signal: AbortSignal,
) => Promise<Result>;

export class MemoryViews implements ShardViews {
  readonly #database: MemoryDatabase;
  readonly #read: Read;

  constructor(database: MemoryDatabase, read: Read) {
    this.#database = database;
    this.#read = read;
  }

  runs(
    keys: readonly Placed<RunKey>[],
    signal: AbortSignal,
  ): Promise<readonly (RunRow | undefined)[]> {
    return this.#read(
      keys.map(({ shard }) => shard),
      () => keys.map((key) => this.#database.tables(key.shard).runs.get(runKey(key))),
      signal,
    );
  }

  executions(
    keys: readonly Placed<ExecutionKey>[],
    signal: AbortSignal,
  ): Promise<
    readonly ({ readonly row: ExecutionRow; readonly ledger: readonly LedgerRow[] } | undefined)[]
  > {
    return this.#read(
      keys.map(({ shard }) => shard),
      () => keys.map((key) => this.#execution(key)),
      signal,
    );
  }

  history(
    shard: ShardId,
    run: RunKey,
    { fromEventId, maxBytes }: { readonly fromEventId: number; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<readonly HistoryRow[]> {
    return this.#read(
      [shard],
      () => {
        const { history } = this.#database.tables(shard);
        const rows = [...(history.get(runKey(run))?.values() ?? [])]
          .filter(({ lastEventId }) => lastEventId >= fromEventId)
          .sort((a, b) => a.firstEventId - b.firstEventId);
        let bytes = 0;
        const tooMuch = rows.findIndex(({ events }) => (bytes += events.length) > maxBytes);
        return tooMuch === -1 ? rows : rows.slice(0, Math.max(1, tooMuch));
      },
      signal,
    );
  }

  timers(shard: ShardId, page: PageRequest, signal: AbortSignal): Promise<Page<TimerRow>> {
    return this.#page(shard, () => this.#database.tables(shard).timers, { page, signal });
  }

  tasks(shard: ShardId, page: PageRequest, signal: AbortSignal): Promise<Page<TaskRow>> {
    return this.#page(shard, () => this.#database.tables(shard).tasks, { page, signal });
  }

  runsOf(
    shard: ShardId,
    { namespaceId, afterSeq }: { readonly namespaceId: string; readonly afterSeq: Seq },
    page: PageRequest,
    signal: AbortSignal,
  ): Promise<Page<RunRow>> {
    const asked = ([, row]: [string, RunRow]) =>
      row.namespaceId === namespaceId && row.seq > afterSeq;
    const runs = () => new Map([...this.#database.tables(shard).runs].filter(asked));
    return this.#page(shard, runs, { page, signal });
  }

  openRuns(shard: ShardId, page: PageRequest, signal: AbortSignal): Promise<Page<RunRow>> {
    const open = () =>
      new Map([...this.#database.tables(shard).runs].filter(([, row]) => row.open));
    return this.#page(shard, open, { page, signal });
  }

  #execution(
    key: Placed<ExecutionKey>,
  ): { readonly row: ExecutionRow; readonly ledger: readonly LedgerRow[] } | undefined {
    const { executions, ledger } = this.#database.tables(key.shard);
    const row = executions.get(executionKey(key));
    if (!row) return undefined;
    const entries = [...(ledger.get(executionKey(key))?.values() ?? [])];
    return { row, ledger: entries.sort((a, b) => a.ordinal - b.ordinal) };
  }

  #page<Row>(
    shard: ShardId,
    table: () => ReadonlyMap<string, Row>,
    { page, signal }: { readonly page: PageRequest; readonly signal: AbortSignal },
  ): Promise<Page<Row>> {
    return this.#read(
      [shard],
      () => {
        const after = page.after ?? '';
        const ahead = [...table()]
          .filter(([key]) => key > after)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .slice(0, page.limit);
        const last = ahead.at(-1);
        return {
          rows: ahead.map(([, row]) => row),
          next: last && ahead.length === page.limit ? last[0] : undefined,
        };
      },
      signal,
    );
  }
}
