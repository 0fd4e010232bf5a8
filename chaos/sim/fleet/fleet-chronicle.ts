/**
 * What really happened in a fleet, read from the raw rows of all its cells: who decided which transition first, and which
 * branch of each run lasted. Nothing here trusts replication: the surviving branch is folded anew from its transitions.
 *
 * Invariants
 *  1. A transition is named by (run, number, epoch); the cell that stored it first has decided it.
 *  2. The branch that lasted is that of the lineage which the surviving cell's own log ends in.
 */
import { applyTransition } from '../../../cell/history/history.ts';
import {
  epochOf,
  extended,
  NO_LINEAGE,
  standingOfBranch,
  type Lineage,
} from '../../../cell/history/lineage.ts';
import type { RunState } from '../../../cell/history/state.ts';
import type { Transition } from '../../../cell/history/transition.ts';
import { decodeRecord } from '../../../cell/shard/log/record-codec.ts';
import { marksOf, startsIn, type ChronicledRun, type Taken } from '../chronicle.ts';
import { fromPayloads } from '../order-process.ts';
import type { SeenRow } from '../watched-database.ts';

export type CellLog = {
  readonly id: string;
  readonly shards: readonly ReadonlyMap<number, SeenRow>[];
};

/** A transition, where it was stored first, and when. */
export type Decided = {
  readonly cell: string;
  readonly atMs: number;
  readonly transition: Transition;
  readonly events: Uint8Array;
};

/** How a run stands at the end of one cell's log. */
type Standing = { lineage: Lineage; closed: boolean; readonly workflowId: string };

export class FleetChronicle {
  readonly runs = new Map<string, ChronicledRun>();
  readonly requests = new Map<string, Taken>();
  readonly lostMarks = new Set<string>();
  readonly lostRuns = new Set<string>();
  readonly breaches: string[] = [];
  transitions = 0;
  /** By run, number and epoch. */
  readonly decided = new Map<string, Decided>();
  /** Of the branch of each run that lasted. */
  readonly lineages = new Map<string, Lineage>();
  /** Transitions that are in no surviving branch. */
  readonly lost: Decided[] = [];
  /** By cell and run: the branch that was last replaced there by another one, and when. */
  readonly gaveWay = new Map<string, { readonly lineage: Lineage; readonly atMs: number }>();
  readonly #ends = new Map<string, Map<string, Standing>>();
  /** By cell and run: in which order the runs came to be there. */
  readonly #arrivals = new Map<string, number>();

  /** @param survivor the cell that is active at the end */
  constructor(cells: readonly CellLog[], survivor: string) {
    for (const cell of cells) this.#readCell(cell);
    for (const [runId, { lineage, workflowId }] of this.#ends.get(survivor) ?? []) {
      this.#foldSurvivor({ runId, workflowId }, lineage);
    }
    for (const one of this.decided.values()) this.#placeInBranch(one);
    for (const run of this.runs.values()) this.#takeRequests(run);
  }

  /** Whether the cell that started a run had the other one by then. */
  knewAtStart({ runId, state }: ChronicledRun, other: ChronicledRun): boolean {
    const starter = this.decided.get(`${runId}/1/${epochOf(state.lineage, 1) ?? 0}`)?.cell;
    const begun = this.#arrivals.get(`${starter}/${runId}`);
    const heard = this.#arrivals.get(`${starter}/${other.runId}`);
    return begun !== undefined && heard !== undefined && heard < begun;
  }

  /** Called in the order of each log: what shares a row was decided in the order in which it stands there. */
  #arrived(cell: string, runId: string): void {
    const key = `${cell}/${runId}`;
    if (!this.#arrivals.has(key)) this.#arrivals.set(key, this.#arrivals.size);
  }

  #readCell({ id, shards }: CellLog): void {
    const ends = new Map<string, Standing>();
    this.#ends.set(id, ends);
    for (const rows of shards) {
      for (const row of [...rows.values()].sort((a, b) => a.seq - b.seq)) {
        try {
          this.#readRow(id, ends, row);
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error);
          this.breaches.push(`P4: ${id} shard ${row.shard} seq ${row.seq} is wrong: ${why}`);
        }
      }
    }
  }

  #readRow(cell: string, ends: Map<string, Standing>, row: SeenRow): void {
    const { steps, adoptions } = decodeRecord(row.record);
    for (const { transition, events } of steps) {
      this.#firstStored({ cell, atMs: row.atMs, transition, events });
      this.#arrived(cell, transition.runId);
      follow(ends, transition);
    }
    for (const { state } of adoptions) {
      const { runId, workflowId, lineage, closedAt } = state;
      const before = ends.get(runId);
      if (before && standingOfBranch(before.lineage, lineage).kind === 'wins')
        this.gaveWay.set(`${cell}/${runId}`, { lineage: before.lineage, atMs: row.atMs });
      ends.set(runId, { lineage, workflowId, closed: closedAt !== undefined });
      this.#arrived(cell, runId);
    }
  }

  #firstStored(stored: Decided): void {
    const key = keyOf(stored.transition);
    const known = this.decided.get(key);
    if (!known) this.transitions += 1;
    else if (Buffer.compare(known.events, stored.events) !== 0 || !isSame(known, stored)) {
      this.breaches.push(
        `P2: transition ${key} was decided in ${known.cell}, and otherwise in ${stored.cell}`,
      );
    }
    if (!known || stored.atMs < known.atMs) this.decided.set(key, stored);
  }

  #foldSurvivor(
    ref: { readonly runId: string; readonly workflowId: string },
    lineage: Lineage,
  ): void {
    const { runId, workflowId } = ref;
    const last = lineage.at(-1)?.transition ?? 0;
    this.lineages.set(runId, lineage);
    let state: RunState | undefined;
    const moments = [];
    const chunks: Uint8Array[] = [];
    let closedMs: number | undefined;
    const starts = new Map<string, number>();
    for (let number = 1; number <= last; number += 1) {
      const epoch = epochOf(lineage, number) ?? 0;
      const found = this.decided.get(`${runId}/${number}/${epoch}`);
      if (!found) {
        this.breaches.push(`P9: ${workflowId} ${runId} has transition ${number} of nobody`);
        return;
      }
      const { events, transition, atMs } = found;
      const folded = this.#folded(state, transition);
      if (folded === undefined) return;
      state = { ...folded, historyBytes: folded.historyBytes + events.length };
      if (events.length > 0) chunks.push(events);
      moments.push({ number, atMs, lastEventId: state.nextEventId - 1 });
      if (state.closedAt !== undefined) closedMs ??= atMs;
      for (const start of startsIn(transition, state)) starts.set(start, atMs);
    }
    if (state)
      this.runs.set(runId, { workflowId, runId, state, moments, events: chunks, closedMs, starts });
  }

  /** Undefined, and a breach, where a transition does not fit on what lies before it: an epoch had two writers. */
  #folded(state: RunState | undefined, transition: Transition): RunState | undefined {
    try {
      return applyTransition(state, transition);
    } catch (error) {
      const { number, epoch, workflowId, runId } = transition;
      const why = error instanceof Error ? error.message : String(error);
      this.breaches.push(
        `P2: transition ${number} of ${workflowId} ${runId} in epoch ${epoch} does not fit: ${why}`,
      );
      return undefined;
    }
  }

  /** What no branch holds at the end has lost. */
  #placeInBranch(one: Decided): void {
    const { transition } = one;
    const { runId, number, epoch } = transition;
    if (epochOf(this.runs.get(runId)?.state.lineage ?? NO_LINEAGE, number) === epoch) return;
    this.lost.push(one);
    this.lostRuns.add(runId);
    for (const { requestId } of transition.execution?.ledger ?? []) this.lostMarks.add(requestId);
    for (const mark of marksIn(transition)) this.lostMarks.add(mark);
  }

  #takeRequests({ runId, state }: ChronicledRun): void {
    for (let number = 1; number <= state.transition; number += 1) {
      const epoch = epochOf(state.lineage, number) ?? 0;
      const { transition } = this.decided.get(`${runId}/${number}/${epoch}`) ?? {};
      for (const entry of transition?.execution?.ledger ?? []) {
        // A run that gives way says whose its request is: that took nothing.
        if (entry.runId !== runId) continue;
        const known = this.requests.get(entry.requestId);
        if (known && known.runId === entry.runId) {
          this.breaches.push(`P4: request ${entry.requestId} was taken twice`);
        }
        this.requests.set(entry.requestId, { runId: entry.runId, number });
      }
      for (const id of transition ? signalsIn(transition) : []) {
        if (!this.requests.has(id)) this.requests.set(id, { runId, number });
      }
    }
  }
}

/** What a transition took, in history or in the buffer; what a flush writes was taken before. */
function inputsOf({ changes }: Transition) {
  const flushes = changes.some(({ kind }) => kind === 'buffer-kept');
  return changes.flatMap((change) => {
    const event = change.kind === 'event-buffered' ? change.event : flushes ? undefined : change;
    return event?.kind === 'WorkflowExecutionSignaled' ? [event] : [];
  });
}

function signalsIn(transition: Transition): readonly string[] {
  return inputsOf(transition).map(({ attributes }) => String(fromPayloads(attributes.input)));
}

function follow(ends: Map<string, Standing>, transition: Transition): void {
  const { runId, workflowId, number, epoch, changes } = transition;
  const known = ends.get(runId)?.lineage ?? NO_LINEAGE;
  const end = known.at(-1);
  if ((end?.transition ?? 0) + 1 !== number) {
    throw new Error(`transition ${number} of ${runId} after ${end?.transition ?? 0}`);
  }
  const eventIds = changes.flatMap((change) => ('eventId' in change ? [change.eventId] : []));
  const eventId = eventIds.at(-1) ?? end?.eventId ?? 0;
  const lineage = extended(known, { epoch, transition: number, eventId });
  ends.set(runId, { lineage, workflowId, closed: false });
}

function isSame(a: Decided, b: Decided): boolean {
  const { at, previousEpoch, changes } = a.transition;
  const other = b.transition;
  return (
    at === other.at &&
    previousEpoch === other.previousEpoch &&
    changes.length === other.changes.length
  );
}

function keyOf({ runId, number, epoch }: Transition): string {
  return `${runId}/${number}/${epoch}`;
}

/** What a transition is evidence of, buffered events too. */
export function marksIn({ runId, changes }: Transition): readonly string[] {
  const activities = new Map<number, string>();
  return changes.flatMap((change) => {
    const event = change.kind === 'event-buffered' ? change.event : change;
    return 'attributes' in event ? marksOf(runId, event, activities) : [];
  });
}
