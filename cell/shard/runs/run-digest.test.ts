import { describe, expect, test } from 'vitest';
import type { RunState } from '../../history/state.ts';
import { executionHash, stateHash } from './run-digest.ts';

const state = (scheduled: object) =>
  ({
    transition: 3,
    activities: new Map([[5, { scheduledEventId: 5, scheduled }]]),
    timers: new Map(),
  }) as unknown as RunState;

describe('the hash of a state', () => {
  const asRead = { startToCloseTimeout: { seconds: 20 }, header: {} };

  test('is the same whether defaults are spelled out, as in a call, or not, as in an event', () => {
    const asCalled = {
      header: {},
      startToCloseTimeout: { nanos: 0, seconds: 20 },
      ...{ activityId: '', requestEagerExecution: false, input: new Uint8Array(), retries: [] },
    };
    expect(stateHash(state(asCalled))).toBe(stateHash(state(asRead)));
  });

  test.each([
    [{ ...asRead, attempt: 1 }],
    [{ startToCloseTimeout: { seconds: 21 }, header: {} }],
    [{ startToCloseTimeout: { seconds: 20 } }],
    [{ ...asRead, list: [0] }],
  ])('is another one for %j', (other) => {
    expect(stateHash(state(other))).not.toBe(stateHash(state(asRead)));
  });
});

describe('executionHash', () => {
  test('is the same whatever else a cell knows of a request, and another where another run has it', () => {
    const current = {
      runId: 'r',
      epoch: 1,
      firstRunId: 'r',
      status: 1,
      startRequestId: 's',
      startedAt: 0,
    } as const;
    const entry = { requestId: 's', kind: 'start', runId: 'r', at: 2 } as const;
    const other = { ...entry, runId: 'other', at: 1 };
    const alone = executionHash(current, [entry]);
    expect(executionHash(current, [{ ...entry, covered: [other] }])).toBe(alone);
    expect(executionHash({ ...current, by: 'other' }, [entry])).toBe(alone);
    expect(executionHash(current, [other])).not.toBe(alone);
  });
});
