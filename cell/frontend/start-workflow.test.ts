import { beforeEach, describe, expect, it } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import type { WorkflowTaskStartedReply } from '../history/decision.ts';
import { FrontendLab, NS, RUN, runState } from './testing/frontend-lab.ts';

let lab: FrontendLab;

beforeEach(() => {
  lab = new FrontendLab();
  lab.engine.reply = () => Promise.resolve({ kind: 'started', runId: RUN, fresh: true, status: 1 });
});

const least = { workflowId: 'w', workflowType: { name: 'order' }, taskQueue: { name: 'orders' } };

describe('a start', () => {
  it('asks the engine with defaults for what is not set, and a request id of its own', async () => {
    const answer = await lab.call('StartWorkflowExecution', least);
    expect(answer).toEqual({ runId: RUN, started: true, status: 1 });
    expect(lab.engine.asked[0]).toMatchObject({
      target: { namespaceId: NS, workflowId: 'w' },
      input: {
        kind: 'start',
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        workflowType: 'order',
        taskQueue: 'orders',
        executionTimeoutMs: 0,
        runTimeoutMs: 0,
        taskTimeoutMs: 0,
        startDelayMs: 0,
        reusePolicy: 1,
        conflictPolicy: 1,
      },
    });
  });

  it('passes on all that it may hold', async () => {
    const carried = {
      input: { payloads: [{ data: new Uint8Array([1]) }] },
      header: { fields: { h: {} } },
      memo: { fields: { m: {} } },
      searchAttributes: { indexedFields: { s: {} } },
      retryPolicy: { maximumAttempts: 3, backoffCoefficient: 2 },
      userMetadata: { summary: {} },
      priority: { priorityKey: 2 },
      requestId: 'mine',
      identity: 'me',
    };
    await lab.call('StartWorkflowExecution', {
      ...least,
      ...carried,
      workflowRunTimeout: { seconds: 60 },
      workflowExecutionTimeout: { seconds: 1, nanos: 500_000_001 },
      workflowTaskTimeout: { seconds: 10 },
      workflowStartDelay: { seconds: 3 },
      requestEagerExecution: true,
    });
    const times = {
      runTimeoutMs: 60_000,
      executionTimeoutMs: 1_501,
      taskTimeoutMs: 10_000,
      startDelayMs: 3_000,
    };
    expect(lab.engine.asked[0]?.input).toMatchObject({ ...carried, ...times });
  });

  it.each([
    ['terminate if running', { workflowIdReusePolicy: 4 as const }, [1, 3]],
    ['failed only', { workflowIdReusePolicy: 2 as const }, [2, 1]],
    ['use existing', { workflowIdConflictPolicy: 2 as const }, [1, 2]],
  ])('translates the policy "%s"', async (_name, policies, expected) => {
    await lab.call('StartWorkflowExecution', { ...least, ...policies });
    const input = lab.engine.asked[0]?.input;
    expect(input?.kind === 'start' && [input.reusePolicy, input.conflictPolicy]).toEqual(expected);
  });

  it('says when it found the run of an earlier request', async () => {
    lab.engine.reply = () =>
      Promise.resolve({ kind: 'started', runId: RUN, fresh: false, status: 2 });
    const answer = await lab.call('StartWorkflowExecution', { ...least, requestId: 'r' });
    expect(answer).toEqual({ runId: RUN, started: false, status: 2 });
  });

  it('passes on a refusal as it is', async () => {
    const refusal = new AtollError('already-exists', 'running', {
      detail: { type: 'WorkflowExecutionAlreadyStartedFailure', value: { runId: RUN } },
    });
    lab.engine.reply = () => Promise.reject(refusal);
    expect(await lab.fail('StartWorkflowExecution', least)).toBe(refusal);
  });

  it('hands out its first task to a caller that asks for it', async () => {
    const task: WorkflowTaskStartedReply = {
      kind: 'workflow-task-started',
      start: {
        scheduledEventId: 2,
        startedEventId: 3,
        attempt: 1,
        startedAt: 5_000,
        requestId: 'p',
        identity: 'me',
        historyBytes: 1,
        suggestContinueAsNew: false,
        epoch: 7,
      },
      scheduledAt: 4_000,
      workflowType: 'order',
      taskQueue: 'orders',
      previousStartedEventId: 0,
      lastStoredEventId: 2,
      branch: undefined,
      virtualEvents: [],
    };
    lab.engine.show(runState({ nextEventId: 3 }));
    lab.engine.reply = () =>
      Promise.resolve({ kind: 'started', runId: RUN, fresh: true, status: 1, task });
    const request = { ...least, identity: 'me', requestEagerExecution: true };
    expect(await lab.call('StartWorkflowExecution', request)).toMatchObject({
      runId: RUN,
      started: true,
      eagerWorkflowTask: {
        startedEventId: 3,
        history: { events: [{ eventId: 1 }, { eventId: 2 }] },
      },
    });
    expect(lab.engine.asked[0]?.input).toMatchObject({ eagerTask: { identity: 'me' } });
    await lab.call('StartWorkflowExecution', least);
    expect(lab.engine.asked[1]?.input).toMatchObject({ eagerTask: undefined });
  });

  it('logs a payload above 256 KB and takes it', async () => {
    const input = { payloads: [{ data: new Uint8Array(256 * 1024 + 1) }] };
    await lab.call('StartWorkflowExecution', { ...least, input });
    expect(lab.warnings).toEqual([expect.stringContaining('large')]);
    expect(lab.engine.asked).toHaveLength(1);
  });
});

describe('signal-with-start', () => {
  it('uses a running run and signals under the same request id', async () => {
    const answer = await lab.call('SignalWithStartWorkflowExecution', {
      ...least,
      signalName: 'go',
      signalInput: { payloads: [] },
      requestId: 'both',
    });
    expect(answer).toEqual({ runId: RUN, started: true });
    expect(lab.engine.asked[0]?.input).toMatchObject({
      kind: 'start',
      requestId: 'both',
      conflictPolicy: 2,
      signal: { name: 'go', requestId: 'both', input: { payloads: [] } },
    });
  });
});
