/**
 * Histories that other servers recorded, folded through `apply`: real input that nobody here wrote. The folder is
 * given by ATOLL_HISTORIES, or lies beside the clone; without it the tests are skipped.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { HistoryEvent } from '../../wire/events.ts';
import { historyFromJson } from '../../wire/history-json.ts';
import { applyTransition, pendingWork } from './history.ts';
import { decodeState, encodeState } from './state-codec.ts';
import type { RunState } from './state.ts';
import { checkHistory } from './testing/grammar.ts';

const FOLDER = process.env['ATOLL_HISTORIES'] ?? '../shared/histories';
const files = existsSync(FOLDER)
  ? readdirSync(FOLDER).filter((name) => name.endsWith('.json'))
  : [];

/** Not one run's history: a sample of every event type, or a page of one. */
const NOT_A_HISTORY = /all-event-types/u;

describe.skipIf(files.length === 0)(
  `recorded histories (skipped where ${FOLDER} is absent)`,
  () => {
    test.each(files.filter((name) => !NOT_A_HISTORY.test(name)))(
      '%s folds event by event',
      (name) => {
        const events = read(name);
        if (events === undefined) return;
        let state: RunState | undefined;
        for (const [index, event] of events.entries()) {
          state = applyTransition(state, {
            namespaceId: 'ns',
            workflowId: 'wf',
            runId: 'run',
            number: index + 1,
            epoch: event.version,
            at: event.eventTime,
            changes: [event],
          });
          expect(pendingOf(state)).toEqual(expected(events.slice(0, index + 1)));
          pendingWork(state);
        }
        if (state) expect(decodeState(encodeState(state))).toEqual(state);
      },
    );

    test('they keep the rules of a history', () => {
      const broken = files
        .filter((name) => !NOT_A_HISTORY.test(name))
        .filter((name) => !isRight(name));
      expect(broken).toEqual([]);
    });
  },
);

/** The events, or undefined for a file that must be refused. */
function read(name: string): HistoryEvent[] | undefined {
  const json: unknown = JSON.parse(readFileSync(`${FOLDER}/${name}`, 'utf8'));
  if (/MayNotIgnore/u.test(name)) {
    expect(() => historyFromJson(json)).toThrow(/does not know|unknown/u);
    return undefined;
  }
  return historyFromJson(json);
}

function isRight(name: string): boolean {
  if (/MayNotIgnore/u.test(name)) return true;
  try {
    checkHistory(read(name) ?? [], true);
    return true;
  } catch {
    return false;
  }
}

function pendingOf(state: RunState) {
  return {
    nextEventId: state.nextEventId,
    activities: [...state.activities.keys()],
    timers: [...state.timers.values()].map((timer) => timer.startedEventId),
    task: state.workflowTask?.scheduledEventId,
    started: state.workflowTask?.started?.startedEventId,
    open: state.status === 1,
  };
}

/** The same from the events alone, by looking for what begins and what ends. */
function expected(events: readonly HistoryEvent[]): ReturnType<typeof pendingOf> {
  const open = !events.some((event) =>
    /^WorkflowExecution(Completed|Failed|TimedOut|Canceled|Terminated|ContinuedAsNew)$/u.test(
      event.kind,
    ),
  );
  const began = (kind: HistoryEvent['kind']) =>
    events.filter((event) => event.kind === kind).map((event) => event.eventId);
  const ended = (kinds: RegExp, field: string) =>
    new Set(
      events
        .filter((event) => kinds.test(event.kind))
        .map((event) => Number((event.attributes as Record<string, unknown>)[field] ?? 0)),
    );
  const left = (ids: number[], gone: ReadonlySet<number>) =>
    open ? ids.filter((id) => !gone.has(id)) : [];
  const tasksEnded = ended(/^WorkflowTask(Completed|Failed|TimedOut)$/u, 'scheduledEventId');
  const task = left(began('WorkflowTaskScheduled'), tasksEnded).at(-1);
  const started = events.findLast((event) => event.kind === 'WorkflowTaskStarted');
  return {
    nextEventId: events.length + 1,
    activities: left(
      began('ActivityTaskScheduled'),
      ended(/^ActivityTask(Completed|Failed|TimedOut|Canceled)$/u, 'scheduledEventId'),
    ),
    timers: left(began('TimerStarted'), ended(/^Timer(Fired|Canceled)$/u, 'startedEventId')),
    task,
    started:
      task !== undefined && started?.attributes.scheduledEventId === task
        ? started.eventId
        : undefined,
    open,
  };
}
