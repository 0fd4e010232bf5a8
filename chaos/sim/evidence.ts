/** Everything that checkers judge by, gathered once when a world has ended. Plain data: a test can plant a breach. */
import type { HistoryEvent } from '../../wire/events.ts';
import { marksOf, type Chronicle } from './chronicle.ts';
import type { Journal } from './journal.ts';
import type { LedgerCall } from './ledger.ts';
import type { Order } from './client.ts';

/** A run's history as the API served it at the end. */
export type ReadHistory = {
  readonly workflowId: string;
  readonly runId: string;
  readonly events: readonly HistoryEvent[];
  /** How often each mark occurs. */
  readonly marks: ReadonlyMap<string, number>;
};

/** What a chronicle tells; a fleet's is made of the logs of its cells. */
export type Chronicled = Pick<
  Chronicle,
  'runs' | 'requests' | 'lostMarks' | 'lostRuns' | 'breaches' | 'transitions'
>;

export type Evidence = {
  readonly journal: Journal;
  readonly chronicle: Chronicled;
  readonly histories: ReadonlyMap<string, ReadHistory>;
  readonly orders: readonly Order[];
  readonly ledger: readonly LedgerCall[];
};

export function readHistory(
  run: { readonly workflowId: string; readonly runId: string },
  events: readonly HistoryEvent[],
): ReadHistory {
  const marks = new Map<string, number>();
  const activities = new Map<number, string>();
  for (const event of events) {
    for (const mark of marksOf(run.runId, event, activities)) {
      marks.set(mark, (marks.get(mark) ?? 0) + 1);
    }
  }
  return { workflowId: run.workflowId, runId: run.runId, events, marks };
}
