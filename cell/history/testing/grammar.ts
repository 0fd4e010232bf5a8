/**
 * What every history must be, whoever wrote it: a check of whole histories, apart from the fold that made them.
 *
 *  1. Event ids count from 1; times never go back.
 *  2. Between a workflow task's start and its end nothing is written (BEHAVIOURS 2).
 *  3. Each workflow task, activity and timer ends at most once, and its events name each other rightly; an activity's
 *     started event directly precedes the event that closes it (BEHAVIOURS 17).
 *  4. What commands made names the completed task that sent them, and follows it before anything from outside.
 *  5. Nothing follows the end of the run.
 *
 * Histories of other servers may break some of these: their buffered events keep the time of arrival and may part an
 * activity's events, and some were written by hand. `foreign` leaves out times, neighbours and rule 4.
 */
import { invariant } from '../../../kernel/invariant.ts';
import type { HistoryEvent } from '../../../wire/events.ts';

type Ids = Readonly<Record<string, unknown>>;

const CLOSE = /^WorkflowExecution(Completed|Failed|TimedOut|Canceled|Terminated|ContinuedAsNew)$/u;
const TASK_END = /^WorkflowTask(Completed|Failed|TimedOut)$/u;
const ACTIVITY_END = /^ActivityTask(Completed|Failed|TimedOut|Canceled)$/u;

/** @throws InvariantError naming the first event that breaks a rule */
export function checkHistory(events: readonly HistoryEvent[], foreign = false): void {
  const byId = new Map(events.map((event) => [event.eventId, event]));
  const ended = new Set<string>();
  let before: HistoryEvent | undefined;
  for (const event of events) {
    const rule = (holds: boolean, what: string) =>
      invariant(holds, `event ${event.eventId} ${event.kind}: ${what}`);
    rule(event.eventId === (before?.eventId ?? 0) + 1, 'its id does not follow');
    rule(foreign || event.eventTime >= (before?.eventTime ?? 0), 'its time goes back');
    rule(!before || !CLOSE.test(before.kind), 'it follows the end of the run');
    const ids: Ids = event.attributes;
    const named = (field: string) => byId.get(Number(ids[field] ?? 0));
    const once = (key: string) => {
      rule(!ended.has(key), `${key} ends twice`);
      ended.add(key);
    };
    if (before?.kind === 'WorkflowTaskStarted')
      rule(TASK_END.test(event.kind), 'it comes between the start and the end of a workflow task');
    if (before?.kind === 'ActivityTaskStarted' && !foreign)
      rule(ACTIVITY_END.test(event.kind), 'it follows a started event that nothing closes');
    if (event.kind === 'WorkflowTaskStarted')
      rule(named('scheduledEventId')?.kind === 'WorkflowTaskScheduled', 'no such scheduled event');
    if (TASK_END.test(event.kind)) {
      rule(named('scheduledEventId')?.kind === 'WorkflowTaskScheduled', 'no such scheduled event');
      once(`workflow task ${String(ids['scheduledEventId'])}`);
      if (ids['startedEventId'])
        rule(named('startedEventId') === before, 'not right after its start');
    }
    if (ACTIVITY_END.test(event.kind)) {
      rule(named('scheduledEventId')?.kind === 'ActivityTaskScheduled', 'no such activity');
      once(`activity ${String(ids['scheduledEventId'])}`);
      if (ids['startedEventId'] && !foreign)
        rule(named('startedEventId') === before, 'not right after its start');
    }
    if (event.kind === 'TimerFired' || event.kind === 'TimerCanceled') {
      rule(named('startedEventId')?.kind === 'TimerStarted', 'no such timer');
      once(`timer of event ${String(ids['startedEventId'])}`);
    }
    if (ids['workflowTaskCompletedEventId'] && !foreign) {
      const task = named('workflowTaskCompletedEventId');
      rule(task?.kind === 'WorkflowTaskCompleted', 'no such completed task');
      rule(before === task || sameTask(before, ids), 'not with the other commands of its task');
    }
    before = event;
  }
}

function sameTask(before: HistoryEvent | undefined, ids: Ids): boolean {
  const attributes: Ids = before?.attributes ?? {};
  return attributes['workflowTaskCompletedEventId'] === ids['workflowTaskCompletedEventId'];
}
