/** One throwaway cell for all tests of a file, and the proof that it still serves after each of them. */
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { startThrowawayCell, type ThrowawayCell } from '../../testing/throwaway-fleet.ts';
import { RawClient } from './client.ts';

/** @returns a maker of clients, each with a task queue of its own */
export function useCell(): (options?: { namespace?: string }) => RawClient {
  let cell: ThrowawayCell | undefined;
  beforeAll(async () => {
    cell = await startThrowawayCell({ kind: 'memory' });
    await cell.register('other');
  });
  afterEach(async () => {
    const client = make();
    await client.start('still-serves', { workflowIdReusePolicy: 1, workflowIdConflictPolicy: 3 });
    const task = await client.task();
    expect(task.workflowExecution?.workflowId).toBe('still-serves');
  });
  afterAll(() => cell?.close());
  const make = (options: { namespace?: string } = {}) => {
    if (cell === undefined) throw new Error('the cell is made before the tests');
    return new RawClient(cell, options);
  };
  return make;
}
