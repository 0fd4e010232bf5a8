/**
 * Reads run and execution rows for all shards of a host: those asked for in one turn, or while a read is under way, share
 * a statement. No timer: an idle read leaves at once.
 */
import type { Clock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import type { ShardId } from '../../storage/shard-log.ts';
import type {
  ExecutionKey,
  ExecutionRow,
  LedgerRow,
  RunKey,
  RunRow,
  ShardViews,
} from '../../storage/views.ts';
import { bounded } from '../bounded.ts';

const KEYS_PER_READ = 500;

export type StoredExecution = { readonly row: ExecutionRow; readonly ledger: readonly LedgerRow[] };

export class ViewLoader {
  readonly #runs: Coalesced<RunKey & { readonly shard: ShardId }, RunRow | undefined>;
  readonly #executions: Coalesced<
    ExecutionKey & { readonly shard: ShardId },
    StoredExecution | undefined
  >;

  constructor(views: ShardViews, clock: Clock, deadlineMs: number) {
    this.#runs = new Coalesced((keys) => bounded(clock, deadlineMs, (s) => views.runs(keys, s)));
    this.#executions = new Coalesced((keys) =>
      bounded(clock, deadlineMs, (s) => views.executions(keys, s)),
    );
  }

  run(key: RunKey & { readonly shard: ShardId }): Promise<RunRow | undefined> {
    return this.#runs.get(key);
  }

  execution(key: ExecutionKey & { readonly shard: ShardId }): Promise<StoredExecution | undefined> {
    return this.#executions.get(key);
  }
}

type Asked<Key, Row> = {
  readonly key: Key;
  readonly resolve: (row: Row) => void;
  readonly reject: (e: Error) => void;
};

class Coalesced<Key, Row> {
  readonly #read: (keys: readonly Key[]) => Promise<readonly Row[]>;
  readonly #asked: Asked<Key, Row>[] = [];
  #running = false;

  constructor(read: (keys: readonly Key[]) => Promise<readonly Row[]>) {
    this.#read = read;
  }

  get(key: Key): Promise<Row> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ key, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      queueMicrotask(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    while (this.#asked.length > 0) {
      const asked = this.#asked.splice(0, KEYS_PER_READ);
      try {
        const rows = await this.#read(asked.map((one) => one.key));
        asked.forEach((one, i) => one.resolve(rows[i] as Row));
      } catch (cause) {
        const error = new AtollError('unavailable', 'the store did not answer a read; try again', {
          cause,
        });
        for (const one of asked) one.reject(error);
      }
    }
    this.#running = false;
  }
}
