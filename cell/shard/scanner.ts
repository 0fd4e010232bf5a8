/**
 * The scanner of a shard (D5, PROTOCOLS 5): holds the work that the driver knows against the work that the states of all
 * open runs call for, heals what is missing, and counts it. One full pass after a takeover, paced; then quiet until
 * something changed.
 */
import { sleep, type Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import { pendingWork } from '../history/history.ts';
import type { RunRow, ShardViews } from '../storage/views.ts';
import { bounded } from './bounded.ts';
import type { ShardConfig } from './config.ts';
import type { Ownership } from './ownership.ts';
import { stateOfRow } from './shard-memory.ts';

export type ScanCounts = { passes: number; runs: number; healed: number };

export class Scanner {
  readonly counts: ScanCounts = { passes: 0, runs: 0, healed: 0 };
  readonly #ownership: Ownership;
  readonly #views: ShardViews;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #config: ShardConfig;

  constructor(options: {
    readonly ownership: Ownership;
    readonly views: ShardViews;
    readonly clock: Clock;
    readonly log: Log;
    readonly config: ShardConfig;
  }) {
    this.#ownership = options.ownership;
    this.#views = options.views;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#config = options.config;
  }

  /** One pass, then again `scanAgainMs` after something changed. Ends with the ownership. */
  async run(): Promise<void> {
    while (!this.#ownership.ended) {
      const scannedUpTo = this.#ownership.committed;
      try {
        await this.#pass();
      } catch (error) {
        this.#log.warn(
          { err: error, shard: this.#ownership.shard },
          'a scanner pass broke off; it starts again',
        );
      }
      await sleep(this.#clock, this.#config.scanAgainMs);
      while (!this.#ownership.ended && this.#ownership.committed === scannedUpTo) {
        await sleep(this.#clock, this.#config.scanAgainMs);
      }
    }
  }

  async #pass(): Promise<void> {
    let after: string | undefined;
    let healed = 0;
    do {
      const page = await bounded(this.#clock, this.#config.statementDeadlineMs, (signal) =>
        this.#views.openRuns(
          this.#ownership.shard,
          { after, limit: this.#config.scanPageRuns },
          signal,
        ),
      );
      for (const row of page.rows) healed += this.#check(row);
      this.counts.runs += page.rows.length;
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

  #check(row: RunRow): number {
    const { memory, driver } = this.#ownership;
    const run = memory.peekRun(row);
    if (run) return this.#ownership.syncWork(run);
    const { namespaceId, workflowId, runId } = row;
    return driver.sync({ namespaceId, workflowId, runId }, pendingWork(stateOfRow(row)));
  }
}
