import { expect, test } from 'vitest';
import { MemoryBudget } from './memory-budget.ts';

test('a budget refuses what goes over it, and takes calls again once others have let go', () => {
  const budget = new MemoryBudget(100);
  expect(budget.hold(60)).toBeUndefined();
  expect(budget.hold(50)).toMatchObject({ code: 'resource-exhausted' });
  budget.letGo(50);
  expect(budget.hold(40)).toBeUndefined();
});
