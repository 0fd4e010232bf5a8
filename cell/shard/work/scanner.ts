/**
 * The scanner of a shard (D5, PROTOCOLS 5): holds the work that the driver knows against the work that the states of all
 * open runs call for, heals what is missing, and counts it. One full pass after a takeover, paced; then quiet until
 * something changed.
 */
import { sleep, type Clock } from '../../../kernel/clock.ts';
import type { Log } from '../../../kernel/log.ts';
import type { RunKey, RunRow, ShardViews } from '../../storage/views.ts';
import { bounded } from '../bounded.ts';
import type { ShardConfig } from '../config.ts';
import type { Ownership } from '../ownership.ts';
import type { ViewReader } from '../views/view-reader.ts';

type ScannedPage = {
  readonly healed: number;
  /** Runs of namespaces that have moved. */
  readonly moved: readonly RunKey[];
  readonly next?: string | undefined;
};

export type ScanCounts = { passes: number; runs: number; healed: number };

export class Scanner {
  readonly counts: ScanCounts = { passes: 0, runs: 0, healed: 0 };
  readonly #ownership: Ownership;
  readonly #views: ShardViews;
  readonly #reader: Pick<ViewReader, 'isReading' | 'settled'>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #config: ShardConfig;

  constructor(options: {
    readonly ownership: Ownership;
    readonly views: ShardViews;
    /** What it is about to bring is not missing. */
    readonly reader: Pick<ViewReader, 'isReading' | 'settled'>;
    readonly clock: Clock;
    readonly log: Log;
    readonly config: ShardConfig;
  }) {
    this.#ownership = options.ownership;
    this.#views = options.views;
    this.#reader = options.reader;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#config = options.config;
  }

  /** One pass, then again `scanAgainMs` after something changed. Ends with the ownership. */
  async run(): Promise<void> {
    const { scanAgainMs } = this.#config;
    while (!this.#ownership.ended) {
      const scannedUpTo = this.#ownership.log.committed;
      const whole = await this.once();
      await sleep(this.#clock, scanAgainMs);
      // Quiet until something changed: an idle shard costs no statement.
      while (whole && !this.#ownership.ended && this.#ownership.log.committed === scannedUpTo) {
        await sleep(this.#clock, scanAgainMs);
      }
    }
  }

  /** One pass, now. False if it did not end. */
  async once(): Promise<boolean> {
    try {
      await this.#pass();
      return true;
    } catch (error) {
      if (this.#ownership.ended) return false;
      this.#log.warn(
        { err: error, shard: this.#ownership.shard, againMs: this.#config.scanAgainMs },
        'a scanner pass broke off; it starts again',
      );
      return false;
    }
  }

  async #pass(): Promise<void> {
    let after: string | undefined;
    let healed = 0;
    do {
      const page = await this.#page(after);
      healed += page.healed;
      await this.#endStrays(page.moved);
      after = page.next;
      if (after !== undefined) await sleep(this.#clock, this.#config.scanPauseMs);
    } while (after !== undefined && !this.#ownership.ended);
    this.counts.passes += 1;
    this.counts.healed += healed;
    if (healed > 0) {
      this.#log.warn(
        { shard: this.#ownership.shard, healed },
        'the scanner found pending work that nobody drove',
      );
    }
  }

  async #page(after: string | undefined): Promise<ScannedPage> {
    let page: ScannedPage | undefined;
    while (page === undefined) {
      await this.#reader.settled();
      page = await this.#readPage(after);
    }
    return page;
  }

  /** Undefined if a namespace began to act meanwhile: its work is being read. */
  #readPage(after: string | undefined): Promise<ScannedPage | undefined> {
    const { memory, shard, standing } = this.#ownership;
    const { statementDeadlineMs, scanPageRuns: limit } = this.#config;
    return memory.reading(
      () =>
        bounded(this.#clock, statementDeadlineMs, (signal) =>
          this.#views.openRuns(shard, { after, limit }, signal),
        ),
      (page) => {
        if (this.#reader.isReading) return undefined;
        this.counts.runs += page.rows.length;
        const healed = page.rows.reduce((sum, row) => sum + this.#check(row), 0);
        const moved = page.rows.filter(({ namespaceId }) => standing.markedEpoch(namespaceId) > 1);
        return { healed, moved, next: page.next };
      },
    );
  }

  /** Where a namespace acts after a failover, runs may be open whose workflow id was taken since (PROTOCOLS 9). */
  async #endStrays(rows: readonly RunKey[]): Promise<void> {
    const { memory, work, standing } = this.#ownership;
    await memory.holding(async () => {
      await Promise.all(rows.map((row) => memory.loadExecution(row)));
      for (const { namespaceId, workflowId, runId } of rows) {
        const ref = { namespaceId, workflowId, runId };
        const execution = memory.peekExecution(ref);
        const elsewhere = execution && execution.current.runId !== runId;
        if (elsewhere && standing.drives(namespaceId)) work.failOver(ref);
      }
    });
  }

  #check(row: RunRow): number {
    const { memory } = this.#ownership;
    const run = memory.peekRun(row);
    if (run) return this.#ownership.work.sync(run);
    return this.#ownership.work.syncStored(row);
  }
}
