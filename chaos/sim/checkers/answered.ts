/**
 * P4, PROTOCOLS 6: an answer to a workflow task is taken only if its worker saw exactly the history that is stored before
 * it. A start is memory only (D7), so its successor may have taken other events at the ids that the worker was shown.
 */
import { decodeEvents } from '../../../wire/event-codec.ts';
import type { HistoryEvent } from '../../../wire/events.ts';
import type { ChronicledRun } from '../chronicle.ts';
import type { Evidence } from '../evidence.ts';
import type { Check, Tally } from '../tally.ts';

export function checkAnswered({ journal, chronicle }: Evidence, tally: Tally<Check>): string[] {
  const logged = new Map<string, readonly HistoryEvent[]>();
  return journal.answered.flatMap(({ workflowId, runId, shown }) => {
    const run = chronicle.runs.get(runId);
    if (!run || chronicle.lostRuns.has(runId)) return [];
    tally.add('P4 histories that workers answered');
    const stored = logged.get(runId) ?? eventsOf(run);
    logged.set(runId, stored);
    const other = shown.find((event, index) => !isSame(event, stored[index]));
    if (!other) return [];
    const instead = stored[other.eventId - 1]?.kind ?? 'nothing';
    const task = `the task of ${workflowId} that started at ${shown.at(-1)?.eventId}`;
    const what = `its worker saw ${other.kind} as event ${other.eventId}, stored is ${instead}`;
    return [`P4: an answer to ${task} was taken, although ${what}`];
  });
}

function eventsOf(run: ChronicledRun): readonly HistoryEvent[] {
  return decodeEvents(Buffer.concat(run.events));
}

/** Times of a task's own events may be those of another attempt, which a worker does not look at. */
function isSame(shown: HistoryEvent, stored: HistoryEvent | undefined): boolean {
  if (shown.kind !== stored?.kind) return false;
  const ofTask = shown.kind === 'WorkflowTaskScheduled' || shown.kind === 'WorkflowTaskStarted';
  return ofTask || shown.eventTime === stored.eventTime;
}
