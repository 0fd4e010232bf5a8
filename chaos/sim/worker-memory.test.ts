import { expect, test } from 'vitest';
import type { HistoryEvent } from '../../wire/events.ts';
import { WorkerMemory } from './worker-memory.ts';

/** Events by their ids, of a branch that their times tell. */
const events = (branch: number, ...ids: readonly number[]): readonly HistoryEvent[] =>
  ids.map((eventId) => ({
    eventId,
    eventTime: branch,
    version: 0,
    kind: 'WorkflowTaskStarted',
    attributes: {},
  }));

test('a whole history takes the place of a longer one of another branch', () => {
  const memory = new WorkerMemory();
  memory.remember('r', { of: 1, events: events(7, 1, 2, 3, 4) });
  memory.remember('r', { of: 2, events: events(8, 1, 2) });
  expect(memory.joined('r', events(8, 3))).toEqual(events(8, 1, 2, 3));
});

test('events that go on are taken only right behind what is remembered', () => {
  const memory = new WorkerMemory();
  memory.remember('r', { of: 1, events: events(7, 1, 2, 3, 4) });
  expect(memory.joined('r', events(8, 3, 4))).toBeUndefined();
  expect(memory.joined('r', events(7, 6))).toBeUndefined();
  expect(memory.joined('other', events(7, 5))).toBeUndefined();
  expect(memory.joined('r', events(7, 5))).toHaveLength(5);
});

test('a task that was held too long puts its old history in the place of no later one', () => {
  const memory = new WorkerMemory();
  memory.remember('r', { of: 2, events: events(7, 1, 2, 3) });
  memory.remember('r', { of: 1, events: events(7, 1) });
  expect(memory.joined('r', events(7, 4))).toHaveLength(4);
});
