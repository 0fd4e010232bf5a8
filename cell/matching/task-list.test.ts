import { describe, expect, test } from 'vitest';
import type { OfferedTask } from './matching.ts';
import { TaskList } from './task-list.ts';

function task(workflowId: string, scheduledAt: number): OfferedTask {
  return {
    kind: 'workflow-task',
    queue: { namespaceId: 'ns', kind: 'workflow', name: 'q' },
    workflowId,
    runId: workflowId,
    scheduledEventId: 2,
    attempt: 1,
    scheduledAt,
  };
}

function drain(list: TaskList): string[] {
  const names: string[] = [];
  for (let next = list.take(); next; next = list.take()) names.push(next.workflowId);
  return names;
}

describe('waiting tasks', () => {
  test('leave by age, whatever the order in which they came', () => {
    const list = new TaskList();
    const ages = Array.from({ length: 500 }, (_, index) => (index * 7_919) % 500);
    for (const age of ages) list.add(task(`${age}`, age));
    expect(list.size).toBe(500);
    expect(list.peek()?.workflowId).toBe('0');
    expect(drain(list)).toEqual(Array.from({ length: 500 }, (_, index) => `${index}`));
    expect(list.size).toBe(0);
  });

  test('of one time leave in the order in which they came', () => {
    const list = new TaskList();
    const names = Array.from({ length: 100 }, (_, index) => `wf-${index}`);
    for (const name of names) list.add(task(name, 5));
    expect(drain(list)).toEqual(names);
  });

  test('that were given back leave before all others', () => {
    const list = new TaskList();
    list.add(task('old', 1));
    list.addFirst(task('back', 9));
    list.addFirst(task('last back', 9));
    expect(drain(list)).toEqual(['last back', 'back', 'old']);
  });

  test('leave all at once in the same order', () => {
    const list = new TaskList();
    for (const age of [3, 1, 2]) list.add(task(`${age}`, age));
    list.addFirst(task('back', 9));
    expect(list.takeAll().map((each) => each.workflowId)).toEqual(['back', '1', '2', '3']);
    expect(list.size).toBe(0);
  });
});
