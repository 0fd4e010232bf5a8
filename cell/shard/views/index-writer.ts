/**
 * Writes visibility rows in bulk, behind the commits (D5): rows of the same run melt into the newest. What it has not
 * written when a checkpoint comes stays as a task row of its run, so nothing is lost with the process.
 *
 * Invariants
 *  1. A row is acknowledged only after the index took it; a failed bulk is tried again, with back-off.
 *  2. At most `limit` rows wait (P11); beyond it the newest is turned away and its run's task row brings it back.
 */
import { sleep, type Clock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import type { Log } from '../../../kernel/log.ts';
import type { IndexRow } from '../../history/work.ts';
import { bounded } from '../bounded.ts';
import type { ShardConfig } from '../config.ts';

/** What the writer needs of visibility: converging upserts (the larger version wins). */
export interface IndexPort {
  upsert(rows: readonly IndexRow[], signal: AbortSignal): Promise<void>;
}

type IndexPace = Pick<ShardConfig, 'indexDelayMs' | 'indexQueueLimit' | 'statementDeadlineMs'>;

type Waiting = { readonly row: IndexRow; readonly written: () => void };

const BULK_ROWS = 1_000;
const LONGEST_PAUSE_MS = 5_000;

export class IndexWriter {
  readonly #index: IndexPort;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #config: IndexPace;
  readonly #waiting = new Map<string, Waiting>();
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #writing: Promise<boolean> | undefined;

  constructor(options: {
    readonly index: IndexPort;
    readonly clock: Clock;
    readonly log: Log;
    readonly config: IndexPace;
  }) {
    this.#index = options.index;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#config = options.config;
  }

  /** Queues a row; `written` is called once the index holds it or a newer one of the run. False: no room. */
  add(row: IndexRow, written: () => void): boolean {
    const known = this.#waiting.get(row.runId);
    if (!known && this.#waiting.size >= this.#config.indexQueueLimit) return false;
    this.#waiting.set(row.runId, { row, written });
    if (!this.#stopping.signal.aborted) this.#running ??= this.#run();
    return true;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Writes at once what waits, as far as the index takes it. */
  async flush(): Promise<void> {
    while (this.#waiting.size > 0) if (!(await this.#write())) return;
  }

  /** Writes what waits, as far as the index takes it, and no more after that. For a clean stop. */
  async stop(): Promise<void> {
    this.#stopping.abort(new AtollError('cancelled', 'stopping'));
    await this.#running;
    await this.flush();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let pause = this.#config.indexDelayMs; this.#waiting.size > 0 && !signal.aborted;) {
      await sleep(this.#clock, pause, signal).catch(() => {});
      if (signal.aborted) break;
      pause = (await this.#write())
        ? this.#config.indexDelayMs
        : Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
    this.#running = undefined;
  }

  /** Joins the bulk under way: no row is sent twice at a time. */
  #write(): Promise<boolean> {
    this.#writing ??= this.#writeBulk().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeBulk(): Promise<boolean> {
    const bulk: Waiting[] = [];
    for (const waiting of this.#waiting.values()) if (bulk.push(waiting) === BULK_ROWS) break;
    try {
      await bounded(this.#clock, this.#config.statementDeadlineMs, (signal) =>
        this.#index.upsert(
          bulk.map((waiting) => waiting.row),
          signal,
        ),
      );
    } catch (error) {
      this.#log.warn(
        { err: error, rows: this.#waiting.size },
        'the visibility index did not take a bulk; trying again',
      );
      return false;
    }
    for (const waiting of bulk) {
      if (this.#waiting.get(waiting.row.runId) === waiting) this.#waiting.delete(waiting.row.runId);
      waiting.written();
    }
    return true;
  }
}
