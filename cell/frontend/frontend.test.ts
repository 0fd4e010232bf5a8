import { beforeEach, describe, expect, it } from 'vitest';
import { AtollError } from '../../kernel/errors.ts';
import { settlePromises } from '../../kernel/testing/virtual-clock.ts';
import type { RpcName } from '../../wire/services.ts';
import { FrontendLab, NS } from './testing/frontend-lab.ts';

let lab: FrontendLab;

beforeEach(() => {
  lab = new FrontendLab();
});

const signal = {
  namespace: 'shop',
  workflowExecution: { workflowId: 'w' },
  signalName: 'go',
};

describe('the gate', () => {
  it('lets a call of a namespace that is active here through, with its id and epoch', async () => {
    expect(await lab.call('SignalWorkflowExecution', signal)).toEqual({});
    expect(lab.engine.asked).toMatchObject([{ target: { namespaceId: NS }, epoch: 7 }]);
  });

  it('takes the namespace of the metadata where the body names none', async () => {
    const headers = { 'temporal-namespace': 'shop' };
    await lab.call('SignalWorkflowExecution', { ...signal, namespace: '' }, { headers });
    expect(lab.engine.asked).toHaveLength(1);
  });

  it('refuses a body whose namespace is not that of the metadata', async () => {
    const headers = { 'temporal-namespace': 'other' };
    const error = await lab.fail('SignalWorkflowExecution', signal, { headers });
    expect([error.code, error.message]).toEqual([
      'invalid-argument',
      'Namespace of the request and header temporal-namespace differ.',
    ]);
    expect(lab.engine.asked).toEqual([]);
  });

  it('says that a namespace is unknown, with the detail that SDKs map', async () => {
    const error = await lab.fail('SignalWorkflowExecution', { ...signal, namespace: 'nobody' });
    expect([error.code, error.detail]).toEqual([
      'not-found',
      { type: 'NamespaceNotFoundFailure', value: { namespace: 'nobody' } },
    ]);
  });

  it('tells a router where a namespace is active, and does nothing', async () => {
    const error = await lab.fail('SignalWorkflowExecution', { ...signal, namespace: 'away' });
    expect([error.code, error.trailers]).toEqual([
      'unavailable',
      { 'atoll-refused': 'not-active', 'atoll-owner': 'there', 'atoll-epoch': '7' },
    ]);
    expect(lab.engine.asked).toEqual([]);
  });

  it('asks for the right before it admits, and does nothing without it', async () => {
    const asked: string[] = [];
    lab = new FrontendLab({
      authoriser: {
        authorise: (_caller, verb, namespace) => {
          asked.push(`${verb} ${namespace}`);
          return Promise.reject(new AtollError('permission-denied', 'no'));
        },
      },
    });
    const rpcs: readonly RpcName[] = [
      'SignalWorkflowExecution',
      'DescribeWorkflowExecution',
      'PollActivityTaskQueue',
      'DescribeNamespace',
    ];
    for (const rpc of rpcs) {
      expect((await lab.fail(rpc, { ...signal, namespace: 'away' })).code).toBe(
        'permission-denied',
      );
    }
    expect(asked).toEqual(['write away', 'read away', 'work away', 'read away']);
  });

  it('answers what is not built with UNIMPLEMENTED and its name', async () => {
    for (const rpc of ['UpdateWorkflowExecution', 'CreateSchedule', 'constructor'] as RpcName[]) {
      const error = await lab.fail(rpc, { namespace: 'shop' });
      expect([error.code, error.message]).toEqual(['unimplemented', expect.stringContaining(rpc)]);
    }
  });

  it('ends a call that the engine never answers, and says that it may still take effect', async () => {
    lab.engine.reply = () => new Promise(() => {});
    const failing = lab.fail('SignalWorkflowExecution', signal);
    await lab.clock.advanceSettled(10_000);
    const error = await failing;
    expect([error.code, error.message]).toEqual([
      'unavailable',
      expect.stringContaining('may still take effect'),
    ]);
  });

  it('ends a call with the reason of its client', async () => {
    lab.engine.reply = () => new Promise(() => {});
    const client = new AbortController();
    const failing = lab.fail('SignalWorkflowExecution', signal, { signal: client.signal });
    await settlePromises();
    client.abort(new AtollError('cancelled', 'the client is gone'));
    expect((await failing).code).toBe('cancelled');
  });

  it('leaves no alarm behind when calls are over', async () => {
    await lab.call('SignalWorkflowExecution', signal);
    expect(lab.clock.pendingCount).toBe(0);
  });
});

describe('what a cell says of itself', () => {
  it('announces only capabilities that exist', async () => {
    const info = await lab.call('GetSystemInfo', {});
    expect(info['capabilities']).toEqual({
      signalAndQueryHeader: true,
      internalErrorDifferentiation: true,
      activityFailureIncludeHeartbeat: true,
      encodedFailureAttributes: true,
      sdkMetadata: true,
      eagerWorkflowStart: true,
      countGroupByExecutionStatus: true,
    });
  });

  it('describes a namespace by name or id, wherever it is active', async () => {
    const byName = await lab.call('DescribeNamespace', { namespace: 'away' });
    expect(byName).toMatchObject({
      namespaceInfo: { name: 'away', state: 1 },
      config: { workflowExecutionRetentionTtl: { seconds: 86_400 } },
      replicationConfig: { activeClusterName: 'there' },
      failoverVersion: 7,
    });
    const byId = await lab.call('DescribeNamespace', { namespace: '', id: NS });
    expect(byId).toMatchObject({ namespaceInfo: { name: 'shop' } });
    expect((await lab.fail('DescribeNamespace', { namespace: 'nobody' })).code).toBe('not-found');
    expect((await lab.fail('DescribeNamespace', { namespace: '' })).code).toBe('invalid-argument');
  });
});
