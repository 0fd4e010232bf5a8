/**
 * From a takeover to a working ownership (PROTOCOLS 2.4): replay the tail over the views, then drive all pending work
 * again: that of the tail at once, that of the views page by page behind the first calls.
 *
 * Invariants
 *  1. Replay skips records at or below the seq that a view row reflects.
 *  2. Work is armed from committed states only; arming twice is harmless.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import { applyTransition, pendingWork } from '../history/history.ts';
import type { LogRow, Seq } from '../storage/shard-log.ts';
import type { RunKey, ShardViews, TaskRow } from '../storage/views.ts';
import { bounded } from './bounded.ts';
import type { ShardConfig } from './config.ts';
import type { Ownership } from './ownership.ts';
import { decodeRecord, type DecodedStep } from './record-codec.ts';
import { stateOfRow } from './shard-memory.ts';

type ReplayStep = { readonly seq: Seq; readonly step: DecodedStep };

const PAGE_ROWS = 500;

/** Loads what the tail touches and folds the tail over it, then arms its work. */
export async function replayTail(ownership: Ownership, rows: readonly LogRow[]): Promise<void> {
  const steps: ReplayStep[] = [];
  for (const { seq, record } of rows) {
    for (const step of decodeRecord(record)) steps.push({ seq, step });
  }
  await Promise.all(
    steps.map(async ({ step: { transition } }) => {
      await ownership.memory.execution(transition);
      await ownership.memory.run(transition);
    }),
  );
  for (const { seq, step } of steps) replayStep(ownership, seq, step);
  for (const run of ownership.dirtyRuns) ownership.syncWork(run);
}

function replayStep(ownership: Ownership, seq: Seq, step: DecodedStep): void {
  const { transition } = step;
  const run = ownership.memory.peekRun(transition);
  if (!run || seq > run.viewSeq) {
    const folded = applyTransition(run?.head, transition);
    const state = { ...folded, historyBytes: folded.historyBytes + step.events.length };
    ownership.replayed({ ...step, state }, seq);
  }
  const execution = ownership.memory.peekExecution(transition);
  if (transition.execution && (!execution || seq > execution.viewSeq)) {
    ownership.replayedExecution(transition, transition.execution);
  }
}

/** Reads pending work from the views into the driver, within its window; runs again when the driver has room. */
export class ViewReader {
  readonly #ownership: Ownership;
  readonly #views: ShardViews;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #config: ShardConfig;
  readonly #reading = new Set<'timers' | 'tasks'>();
  #timers: { readonly after: string; readonly dueAt: number } | undefined;

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

  /** Reads timers or tasks, once at a time; a failing store is asked again after a pause. */
  async read(what: 'timers' | 'tasks'): Promise<void> {
    if (this.#reading.has(what) || this.#ownership.ended) return;
    this.#reading.add(what);
    try {
      if (what === 'timers') await this.#readTimers();
      else await this.#readTasks();
    } catch (error) {
      this.#log.warn(
        { err: error, shard: this.#ownership.shard, what },
        'pending work was not read; trying again',
      );
      this.#clock.after(1_000, () => void this.read(what));
    } finally {
      this.#reading.delete(what);
    }
  }

  async #readTimers(): Promise<void> {
    const { driver, shard, ended } = this.#ownership;
    // A window that shrank since lies before the cursor: its timers are found from the start again.
    if (this.#timers && driver.timerHorizon < this.#timers.dueAt) this.#timers = undefined;
    let after = this.#timers?.after;
    for (let read = 0; read < this.#config.timerWindow / 2 && !ended; read += PAGE_ROWS) {
      const page = await this.#ask((signal) =>
        this.#views.timers(shard, { after, limit: PAGE_ROWS }, signal),
      );
      const last = page.rows.at(-1);
      const whole = page.next === undefined || !last;
      if (whole || last.dueAt > driver.timerHorizon) {
        driver.windowReadUpTo(whole ? Number.POSITIVE_INFINITY : last.dueAt);
      }
      for (const row of page.rows) driver.adopt(refOf(row), row.work, row.dueAt);
      if (whole) {
        this.#timers = undefined;
        return this.#syncDirty();
      }
      after = page.next;
      if (after !== undefined) this.#timers = { after, dueAt: last.dueAt };
    }
    if (this.#timers) driver.windowReadUpTo(this.#timers.dueAt);
    this.#syncDirty();
  }

  /** Clocks of runs that no checkpoint covers yet are in no view: those that the wider window takes in now. */
  #syncDirty(): void {
    for (const run of this.#ownership.dirtyRuns) this.#ownership.syncWork(run);
  }

  async #readTasks(): Promise<void> {
    const { driver, shard } = this.#ownership;
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
    const { memory, driver, shard } = this.#ownership;
    const unseen: RunKey[] = [];
    for (const row of rows) {
      if (row.work === 'i') {
        const run = await memory.run(refOf(row));
        if (run) this.#ownership.indexAgain(run);
      }
      const run = memory.peekRun(refOf(row));
      if (run) this.#ownership.syncWork(run);
      else unseen.push(refOf(row));
    }
    if (unseen.length === 0) return;
    const found = await this.#ask((signal) =>
      this.#views.runs(
        unseen.map((key) => ({ ...key, shard })),
        signal,
      ),
    );
    for (const row of found) {
      if (row && !memory.peekRun(row)) driver.sync(refOf(row), pendingWork(stateOfRow(row)));
    }
  }

  #ask<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return bounded(this.#clock, this.#config.statementDeadlineMs, call);
  }
}

function refOf(row: RunKey): RunKey {
  return { namespaceId: row.namespaceId, workflowId: row.workflowId, runId: row.runId };
}
