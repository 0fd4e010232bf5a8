/**
 * What really happened, read from the log's rows after the run: every run folded transition by transition, every request
 * with the transition that took it, and what a promoted standby lost.
 *
 * Place: checkers hold the journal of clients and the histories of the API against it.
 */
import { applyTransition } from '../../cell/history/history.ts';
import type { BufferedEvent, RunState } from '../../cell/history/state.ts';
import type { Transition } from '../../cell/history/transition.ts';
import { decodeRecord } from '../../cell/shard/log/record-codec.ts';
import type { HistoryEvent } from '../../wire/events.ts';
import { fromPayloads } from './order-process.ts';
import type { SeenRow } from './watched-database.ts';

/** A run's state after one transition, and when that was stored. */
export type Moment = {
  readonly number: number;
  readonly atMs: number;
  readonly lastEventId: number;
};

export type ChronicledRun = {
  readonly workflowId: string;
  readonly runId: string;
  state: RunState;
  readonly moments: Moment[];
  /** Encoded events, as stored. */
  readonly events: Uint8Array[];
  closedMs: number | undefined;
  /** When each start of an activity was stored, by `startKey`. */
  readonly starts: Map<string, number>;
};

export type Taken = { readonly runId: string; readonly number: number };

export class Chronicle {
  readonly runs = new Map<string, ChronicledRun>();
  /** By request id: who took it first. */
  readonly requests = new Map<string, Taken>();
  /** Marks of requests and completions in records that a promoted standby lacked. */
  readonly lostMarks = new Set<string>();
  readonly lostRuns = new Set<string>();
  /** P3 and P4 as far as the log shows them. */
  readonly breaches: string[] = [];
  transitions = 0;

  constructor(shards: readonly ReadonlyMap<number, SeenRow>[], lost: readonly SeenRow[]) {
    for (const rows of shards) {
      for (const row of [...rows.values()].sort((a, b) => a.seq - b.seq)) this.#read(row);
    }
    for (const row of lost) this.#readLost(row);
  }

  /** A row that cannot be read, or does not fit what is below it, is a breach of its own; the rest is read on. */
  #read(row: SeenRow): void {
    try {
      this.#readSteps(row);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.breaches.push(`P4: shard ${row.shard} seq ${row.seq} cannot be read: ${why}`);
    }
  }

  #readSteps(row: SeenRow): void {
    for (const step of decodeRecord(row.record).steps) {
      const { transition, events } = step;
      this.transitions += 1;
      const run = this.#runOf(transition, row);
      if (!run) continue;
      if (events.length > 0) run.events.push(events);
      const historyBytes = run.state.historyBytes + events.length;
      run.state = { ...run.state, historyBytes };
      const lastEventId = run.state.nextEventId - 1;
      run.moments.push({ number: transition.number, atMs: row.atMs, lastEventId });
      if (run.state.closedAt !== undefined) run.closedMs ??= row.atMs;
      for (const start of startsIn(transition, run.state)) run.starts.set(start, row.atMs);
      for (const { requestId, runId } of transition.execution?.ledger ?? []) {
        if (this.requests.has(requestId)) {
          this.breaches.push(`P4: request ${requestId} was taken twice`);
        }
        this.requests.set(requestId, { runId, number: transition.number });
      }
    }
  }

  #runOf(transition: Transition, row: SeenRow): ChronicledRun | undefined {
    const { workflowId, runId, number } = transition;
    const known = this.runs.get(runId);
    if ((known?.state.transition ?? 0) + 1 !== number) {
      this.breaches.push(
        `P4: run ${runId} of ${workflowId} has transition ${number} after ${known?.state.transition ?? 0}`,
      );
      return undefined;
    }
    const state = applyTransition(known?.state, transition);
    if (known) {
      known.state = state;
      return known;
    }
    const open = [...this.runs.values()].find(
      (other) => other.workflowId === workflowId && other.state.closedAt === undefined,
    );
    if (open) {
      this.breaches.push(
        `P3: run ${runId} of ${workflowId} started at seq ${row.seq} while run ${open.runId} was open`,
      );
    }
    const run = {
      workflowId,
      runId,
      state,
      moments: [],
      events: [],
      closedMs: undefined,
      starts: new Map<string, number>(),
    };
    this.runs.set(runId, run);
    return run;
  }

  #readLost(row: SeenRow): void {
    for (const { transition } of decodeRecord(row.record).steps) {
      this.lostRuns.add(transition.runId);
      for (const { requestId } of transition.execution?.ledger ?? []) this.lostMarks.add(requestId);
      const activities = new Map<number, string>();
      for (const change of transition.changes) {
        // What came while a task was started is a patch until it is flushed: acknowledged, and lost, all the same.
        const event = change.kind === 'event-buffered' ? change.event : change;
        if (!('attributes' in event)) continue;
        for (const mark of marksOf(transition.runId, event, activities)) this.lostMarks.add(mark);
      }
    }
  }
}

/** An attempt of an activity, within its run. */
export function startKey(of: { readonly activityId: string; readonly attempt: number }): string {
  return `${of.activityId}/${of.attempt}`;
}

/** The starts of activities that a transition holds, by the state after it. */
export function startsIn({ changes }: Transition, after: RunState): readonly string[] {
  return changes.flatMap((change) => {
    if (change.kind !== 'activity-started') return [];
    const activity = after.activities.get(change.scheduledEventId);
    if (activity === undefined) return [];
    const { attempt, scheduled } = activity;
    return [startKey({ activityId: scheduled.activityId ?? '', attempt })];
  });
}

/** What an event is evidence of; a lost completion of an activity that was scheduled earlier excuses its whole run. */
export function marksOf(
  runId: string,
  event: HistoryEvent | BufferedEvent,
  activities: Map<number, string>,
): readonly string[] {
  switch (event.kind) {
    case 'WorkflowExecutionSignaled':
      return [`signal ${runId} ${String(fromPayloads(event.attributes.input))}`];
    case 'WorkflowExecutionCancelRequested':
      return [`cancel ${runId}`];
    case 'WorkflowExecutionTerminated':
      return [`terminate ${runId}`];
    // An answer whose commands could not stand is acknowledged too: its task has failed.
    case 'WorkflowTaskCompleted':
    case 'WorkflowTaskFailed':
      return [`workflow-task ${runId} ${event.attributes.startedEventId}`];
    case 'ActivityTaskScheduled':
      if ('eventId' in event) activities.set(event.eventId, event.attributes.activityId ?? '');
      return [];
    case 'ActivityTaskCompleted': {
      const id = activities.get(event.attributes.scheduledEventId ?? 0) ?? 'any';
      return [`activity ${runId} ${id}`];
    }
    default:
      return [];
  }
}
