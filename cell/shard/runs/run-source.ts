/**
 * Reads a run whole, for lanes and comparisons: its committed state, its events from memory and views, its workflow id's
 * pointer and ledger (PROTOCOLS 7, 10).
 *
 * Invariant: state, pointer and ledger are of one moment, durable then; events up to the state's last one never change, also
 * those of a branch that loses meanwhile.
 */
import { AtollError } from '../../../kernel/errors.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { scanEvents } from '../../../wire/event-scan.ts';
import type { CurrentRun, LedgerEntry } from '../../history/execution.ts';
import type { RunState } from '../../history/state.ts';
import type { HistoryRow, ShardViews } from '../../storage/views.ts';
import { bounded } from '../bounded.ts';
import type { CachedExecution, CachedRun } from './cached.ts';
import type { RunRef } from '../engine.ts';
import { readHistory } from './history-reader.ts';
import type { Ownership } from '../ownership.ts';

export type WholeRun = {
  readonly state: RunState;
  readonly historyId: string;
  readonly current: CurrentRun;
  readonly ledger: readonly LedgerEntry[];
};

/** Bytes of history read in one go. */
const PAGE_BYTES = 4 * 1024 * 1024;

export class RunSource {
  readonly #views: ShardViews;
  readonly #clock: Clock;
  readonly #deadlineMs: number;

  constructor(views: ShardViews, clock: Clock, deadlineMs: number) {
    this.#views = views;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /** Undefined where there is no such run, or nothing of it is durable yet. */
  async read(
    ownership: Ownership,
    ref: RunRef,
    signal: AbortSignal,
  ): Promise<WholeRun | undefined> {
    const { memory } = ownership;
    for (;;) {
      ownership.log.assertOwned();
      const found = memory.peek(ref);
      if (found) return whole(found.run, found.execution);
      signal.throwIfAborted();
      if (!(await memory.load(ref))) return undefined;
    }
  }

  /** Its events after one that the asker has, as stored. */
  async events(
    ownership: Ownership,
    run: { readonly state: RunState; readonly historyId: string },
    afterEventId: number,
    signal: AbortSignal,
  ): Promise<readonly Uint8Array[]> {
    const { state, historyId } = run;
    const chunks: Uint8Array[] = [];
    const to = state.nextEventId - 1;
    for (let from = afterEventId + 1; from <= to;) {
      const page = await this.#page(ownership, { state, historyId, from }, signal);
      invariant(page.toEventId >= from, `history of run ${state.runId} ends before event ${from}`);
      chunks.push(...page.chunks);
      from = page.toEventId + 1;
    }
    return chunks;
  }

  #page(
    ownership: Ownership,
    at: { readonly state: RunState; readonly historyId: string; readonly from: number },
    signal: AbortSignal,
  ) {
    const { state, historyId, from } = at;
    const toEventId = state.nextEventId - 1;
    const range = { historyId, fromEventId: from, toEventId, maxBytes: PAGE_BYTES };
    const stored = (fromEventId: number, maxBytes: number): Promise<readonly HistoryRow[]> =>
      bounded(this.#clock, this.#deadlineMs, (deadline) => {
        signal.throwIfAborted();
        const key = { ...refOf(state), runId: historyId };
        return this.#views.history(ownership.shard, key, { fromEventId, maxBytes }, deadline);
      }).then((rows) => rows.map(asNumbered));
    return ownership.at(refOf(state), signal, ({ run }) => readHistory(run, range, stored));
  }
}

function whole(run: CachedRun, execution: CachedExecution): WholeRun | undefined {
  const { committed: state, branch } = run;
  const current = execution.committedCurrent;
  if (!state || !current) return undefined;
  return { state, historyId: branch.historyId, current, ledger: execution.durableLedger() };
}

function refOf({ namespaceId, workflowId, runId }: RunState): RunRef {
  return { namespaceId, workflowId, runId };
}

/** A row that holds other events than it says would show only when the next one is read, or never. */
function asNumbered(row: HistoryRow): HistoryRow {
  const events = scanEvents(row.events);
  const [first, last] = [events[0]?.eventId, events.at(-1)?.eventId];
  if (first === row.firstEventId && last === row.lastEventId) return row;
  const numbers = `${row.firstEventId} to ${row.lastEventId}`;
  throw new AtollError(
    'data-loss',
    `the history row of run ${row.runId} with events ${numbers} holds ${first} to ${last}`,
  );
}
