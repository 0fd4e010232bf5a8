/**
 * Reads pending work from the views into the driver, within its window: after a takeover, and again when the driver has
 * room (D5, P11).
 *
 * Invariants
 *  1. Where memory has the run, its state counts and not the row; what changed while a page was read is synced after it,
 *     and so is what no view knows: the clock of a start in memory alone.
 *  2. The driver's horizon rises only over what was read without a gap.
 *  3. One read of a kind at a time; one that is asked for meanwhile follows it.
 */
import { sleep, type Clock } from '../../../kernel/clock.ts';
import type { Log } from '../../../kernel/log.ts';
import type { RunKey, ShardViews, TaskRow, TimerRow } from '../../storage/views.ts';
import { bounded } from '../bounded.ts';
import { isDamage } from '../damage.ts';
import type { CachedRun } from '../runs/cached.ts';
import type { ShardConfig } from '../config.ts';
import type { Ownership } from '../ownership.ts';
import { INDEX_WORK, workRows } from './work-rows.ts';

export type PendingKind = 'timers' | 'tasks';

const PAGE_ROWS = 500;
const TRY_AGAIN_MS = 1_000;

/** A page's end: where the next one begins, and the drops that had happened by then. */
type Cursor = { readonly after: string; readonly shrinks: number };

export class ViewReader {
  readonly #ownership: Ownership;
  readonly #views: ShardViews;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #config: ShardConfig;
  readonly #reading = new Map<PendingKind, Promise<void>>();
  readonly #again = new Set<PendingKind>();
  #cursor: Cursor | undefined;
  #begun = false;

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

  /**
   * Reads timers or tasks; a failing store is asked again after a pause. Resolves once all of the window was read, with what
   * was asked for meanwhile. Never rejects.
   */
  read(what: PendingKind): Promise<void> {
    const reading = this.#reading.get(what);
    if (reading) {
      this.#again.add(what);
      return reading;
    }
    // Noted before it begins: the reading itself asks for more.
    const read = Promise.resolve().then(() => this.#readAll(what));
    this.#reading.set(what, read);
    return read;
  }

  /** A read is under way: what it brings may not be driven yet. */
  get isReading(): boolean {
    return this.#reading.size > 0;
  }

  /** Resolves once no read is under way. Never rejects. */
  async settled(): Promise<void> {
    while (this.isReading) await Promise.all(this.#reading.values());
  }

  async #readAll(what: PendingKind): Promise<void> {
    do {
      this.#again.delete(what);
      while (!(await this.#readOnce(what)) && !this.#ownership.ended) {
        await sleep(this.#clock, TRY_AGAIN_MS);
      }
    } while (!this.#ownership.ended && this.#isWanted(what));
    this.#reading.delete(what);
  }

  /** Timers are asked for all the while that their window has room; tasks once, when room comes. */
  #isWanted(what: PendingKind): boolean {
    return what === 'timers' ? this.#ownership.work.driver.wantsTimers : this.#again.has(what);
  }

  /** False when the store failed: it is asked again after a pause. */
  async #readOnce(what: PendingKind): Promise<boolean> {
    if (this.#ownership.ended) return false;
    const { memory } = this.#ownership;
    const { saves } = memory;
    try {
      await memory.reading(
        () => (what === 'timers' ? this.#readTimers() : this.#readTasks()),
        () => this.#syncNewer(saves),
      );
      return true;
    } catch (error) {
      if (this.#ownership.ended) return false;
      this.#log.warn(
        { err: error, shard: this.#ownership.shard, what },
        'pending work was not read; trying again',
      );
      return false;
    }
  }

  async #readTimers(): Promise<void> {
    const { shard, work } = this.#ownership;
    const { driver } = work;
    if (!this.#begun) driver.windowReadUpTo(0); // Nothing was read yet: what is in the views is not known.
    this.#begun = true;
    const { timerShrinks: shrinks } = driver;
    // What was dropped since may lie before the cursor: found from the start again.
    if (this.#cursor?.shrinks !== shrinks) this.#cursor = undefined;
    const limit = Math.max(1, Math.min(PAGE_ROWS, Math.floor(this.#config.timerWindow / 4)));
    for (let read = 0; read < this.#config.timerWindow / 2; read += limit) {
      const after = this.#cursor?.after;
      const page = await this.#ask((signal) => this.#views.timers(shard, { after, limit }, signal));
      if (this.#ownership.ended) return;
      if (driver.timerShrinks !== shrinks) return void (this.#cursor = undefined);
      const last = page.rows.at(-1);
      const upTo = page.next === undefined || !last ? Number.POSITIVE_INFINITY : last.dueAt;
      driver.windowReadUpTo(Math.max(driver.timerHorizon, upTo));
      this.#adopt(page.rows); // Where it overflows the window, the horizon falls to what was dropped.
      if (page.next === undefined || driver.timerShrinks !== shrinks) {
        return void (this.#cursor = undefined);
      }
      this.#cursor = { after: page.next, shrinks };
    }
  }

  #adopt(rows: readonly TimerRow[]): void {
    const { memory, work } = this.#ownership;
    const { driver } = work;
    const known = new Map<CachedRun, ReadonlyMap<string, number | undefined>>();
    for (const row of rows) {
      const run = memory.peekRun(row);
      if (run?.committed) {
        const work = known.get(run) ?? workRows(run.committed);
        known.set(run, work);
        if (work.get(row.work) !== row.dueAt) continue;
      }
      if (this.#ownership.standing.drives(row.namespaceId))
        driver.adopt(refOf(row), row.work, row.dueAt);
    }
    driver.adopted();
  }

  async #readTasks(): Promise<void> {
    const { shard, work } = this.#ownership;
    const { driver } = work;
    let after: string | undefined;
    do {
      const page = await this.#ask((signal) =>
        this.#views.tasks(shard, { after, limit: PAGE_ROWS }, signal),
      );
      await this.#syncRuns(page.rows);
      after = page.next;
    } while (after !== undefined && driver.holdsAllTasks && !this.#ownership.ended);
  }

  async #syncRuns(rows: readonly TaskRow[]): Promise<void> {
    const { shard } = this.#ownership;
    await this.#indexAgain(rows.filter((row) => row.work === INDEX_WORK).map(refOf));
    const unseen = new Map<string, RunKey>();
    for (const ref of rows.map(refOf)) if (!this.#syncKnown(ref)) unseen.set(ref.runId, ref);
    if (unseen.size === 0) return;
    const keys = [...unseen.values()].map((key) => ({ ...key, shard }));
    for (const row of await this.#ask((signal) => this.#views.runs(keys, signal))) {
      if (!row || this.#syncKnown(row)) continue;
      this.#ownership.work.syncStored(row);
    }
  }

  async #indexAgain(refs: readonly RunKey[]): Promise<void> {
    const { memory, indexing } = this.#ownership;
    if (refs.length === 0) return;
    await memory.holding(async () => {
      const loads = await Promise.allSettled(refs.map((ref) => memory.loadRun(ref)));
      for (const load of loads) {
        // What cannot be read has its row left, and keeps no other from being shown.
        if (load.status === 'rejected' && !isDamage(load.reason)) throw load.reason;
      }
      for (const run of refs.map((ref) => memory.peekRun(ref))) if (run) indexing.again(run);
    });
  }

  #syncKnown(ref: RunKey): boolean {
    const run = this.#ownership.memory.peekRun(ref);
    if (run) this.#ownership.work.sync(run);
    return run !== undefined;
  }

  /** Runs that a page may not have shown as they are: their clocks may lie where the window had no room before. */
  #syncNewer(saves: number): void {
    const { memory, indexing } = this.#ownership;
    for (const run of memory.newerThan(saves)) {
      this.#ownership.work.sync(run);
      if (run.indexWanted > run.indexed) indexing.again(run);
    }
  }

  #ask<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return bounded(this.#clock, this.#config.statementDeadlineMs, call);
  }
}

function refOf(row: RunKey): RunKey {
  return { namespaceId: row.namespaceId, workflowId: row.workflowId, runId: row.runId };
}
