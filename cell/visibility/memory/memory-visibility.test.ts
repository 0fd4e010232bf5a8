import { describe, expect, it } from 'vitest';
import { visibilityConformance } from '../conformance/visibility.ts';
import { MemoryVisibility } from './memory-visibility.ts';

describe('visibility in memory', () => {
  visibilityConformance(() => Promise.resolve(new MemoryVisibility()));

  it('shows a bounded number of runs: the one first written leaves', async () => {
    const visibility = new MemoryVisibility(2);
    const signal = new AbortController().signal;
    const namespaceId = 'n';
    const row = (runId: string) => ({
      namespaceId,
      runId,
      firstRunId: runId,
      workflowId: runId,
      version: 1,
      workflowType: 't',
      taskQueue: 'q',
      status: 1,
      startedAt: 0,
      executionAt: 0,
      historyLength: 1,
      historyBytes: 1,
    });
    await visibility.upsert([row('a'), row('b')], signal);
    await visibility.upsert([row('c')], signal);
    const page = await visibility.list({ namespaceId, pageSize: 10 }, signal);
    expect(page.rows.map((one) => one.runId)).toEqual(['c', 'b']);
  });
});
