import { describe, expect, it } from 'vitest';
import { CachedFleetMap } from '../fleet/cached-map.ts';
import { twoCells } from '../fleet/conformance/sample.ts';
import { MemoryFleetMap } from '../fleet/memory/fleet-map.ts';
import { silentLog } from '../kernel/log.ts';
import { noMetrics } from '../kernel/metrics.ts';
import { SeededRng } from '../kernel/testing/seeded-rng.ts';
import { VirtualClock } from '../kernel/testing/virtual-clock.ts';
import { METHODS } from '../wire/services.ts';
import { routerConfig } from './config.ts';
import { localCalls } from './local-calls.ts';
import { routerMetrics } from './router-metrics.ts';

const DAY = { seconds: 86_400 };

describe('what the router answers itself', () => {
  it('announces only what exists', async () => {
    const call = await fleet();
    expect(await call('GetSystemInfo')).toEqual({
      serverVersion: '1.29.0-atoll',
      capabilities: {
        signalAndQueryHeader: true,
        internalErrorDifferentiation: true,
        activityFailureIncludeHeartbeat: true,
        encodedFailureAttributes: true,
        sdkMetadata: true,
        eagerWorkflowStart: true,
        countGroupByExecutionStatus: true,
      },
    });
    expect(await call('GetClusterInfo')).toMatchObject({
      clusterName: 'atoll',
      historyShardCount: 8,
    });
  });

  it('is healthy, as a whole and by service, and knows no others', async () => {
    const call = await fleet();
    for (const service of [
      '',
      'temporal.api.workflowservice.v1.WorkflowService',
      'grpc.health.v1.Health',
    ]) {
      expect(await call('Check', { service })).toEqual({ status: 1 });
    }
    await expect(call('Check', { service: 'other' })).rejects.toMatchObject({ code: 'not-found' });
  });

  it('describes a namespace that it has registered, by name and by id', async () => {
    const call = await fleet();
    await call('RegisterNamespace', {
      namespace: 'new',
      description: 'for tests',
      ownerEmail: 'a@b.c',
      data: { team: 'x' },
      workflowExecutionRetentionPeriod: DAY,
    });
    const described = await call('DescribeNamespace', { namespace: 'new' });
    expect(described).toMatchObject({
      namespaceInfo: {
        name: 'new',
        state: 1,
        description: 'for tests',
        ownerEmail: 'a@b.c',
        data: { team: 'x' },
      },
      config: { workflowExecutionRetentionTtl: DAY },
      replicationConfig: { activeClusterName: 'west', clusters: [{ clusterName: 'west' }] },
      failoverVersion: 1,
    });
    const { id } = (described as { namespaceInfo: { id: string } }).namespaceInfo;
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(await call('DescribeNamespace', { id })).toEqual(described);
  });

  it('places new namespaces on the emptiest cell in turn, or on the one that the caller names', async () => {
    const call = await fleet();
    for (const namespace of ['n1', 'n2', 'n3']) {
      await call('RegisterNamespace', { namespace, workflowExecutionRetentionPeriod: DAY });
    }
    const east = { activeClusterName: 'east', workflowExecutionRetentionPeriod: DAY };
    await call('RegisterNamespace', { namespace: 'n4', ...east });
    expect(await placements(call)).toEqual({
      orders: 'east',
      n1: 'west',
      n2: 'east',
      n3: 'west',
      n4: 'east',
    });
  });

  it('places new namespaces in the default region only', async () => {
    const call = await fleet({ defaultRegion: 'e' });
    for (const namespace of ['n1', 'n2']) {
      await call('RegisterNamespace', { namespace, workflowExecutionRetentionPeriod: DAY });
    }
    expect(await placements(call)).toEqual({ orders: 'east', n1: 'east', n2: 'east' });
  });

  it('places a namespace in the region that it names, whatever the default', async () => {
    const call = await fleet({ defaultRegion: 'e' });
    const inWest = { data: { 'atoll.region': 'w' }, workflowExecutionRetentionPeriod: DAY };
    for (const namespace of ['n1', 'n2']) await call('RegisterNamespace', { namespace, ...inWest });
    expect(await placements(call)).toEqual({ orders: 'east', n1: 'west', n2: 'west' });
  });

  it('takes another region of a namespace for a move, but not the one where it is', async () => {
    const call = await fleet();
    const update = (region: string) =>
      call('UpdateNamespace', {
        namespace: 'orders',
        updateInfo: { data: { 'atoll.region': region } },
      });
    await expect(update('w')).rejects.toMatchObject({
      code: 'unimplemented',
      message: expect.stringContaining('active in east'),
    });
    expect(await update('e')).toMatchObject({ replicationConfig: { activeClusterName: 'east' } });
  });

  it('lists the cells of the fleet by name, in pages', async () => {
    const call = await fleet();
    const first = await call('ListClusters', { pageSize: 1 });
    const east = { clusterName: 'east', address: '127.0.0.1:1', historyShardCount: 4 };
    expect(first).toMatchObject({ clusters: [east] });
    const { nextPageToken } = first as { nextPageToken: Uint8Array };
    const second = await call('ListClusters', { pageSize: 1, nextPageToken });
    expect(second).toMatchObject({ clusters: [{ clusterName: 'west' }] });
    expect((second as { nextPageToken?: Uint8Array }).nextPageToken).toBeUndefined();
  });

  it('lists namespaces by name, in pages', async () => {
    const call = await fleet();
    for (const namespace of ['b', 'a', 'c']) {
      await call('RegisterNamespace', { namespace, workflowExecutionRetentionPeriod: DAY });
    }
    const names: string[][] = [];
    let nextPageToken: Uint8Array | undefined;
    do {
      const page = (await call('ListNamespaces', { pageSize: 2, nextPageToken })) as Page;
      names.push(page.namespaces.map((one) => one.namespaceInfo.name));
      nextPageToken = page.nextPageToken;
    } while (nextPageToken !== undefined);
    expect(names).toEqual([
      ['a', 'b'],
      ['c', 'orders'],
    ]);
  });
});

describe('a request that the router refuses', () => {
  const rows: readonly [string, string, object, string, RegExp][] = [
    [
      'a name twice',
      'RegisterNamespace',
      { namespace: 'orders', workflowExecutionRetentionPeriod: DAY },
      'already-exists',
      /orders/,
    ],
    ['no retention', 'RegisterNamespace', { namespace: 'n' }, 'invalid-argument', /at least 1 day/],
    [
      'no name',
      'RegisterNamespace',
      { workflowExecutionRetentionPeriod: DAY },
      'invalid-argument',
      /name/,
    ],
    [
      'an unknown cell',
      'RegisterNamespace',
      { namespace: 'n', activeClusterName: 'moon', workflowExecutionRetentionPeriod: DAY },
      'invalid-argument',
      /east, west/,
    ],
    [
      'a cell in another region',
      'RegisterNamespace',
      {
        namespace: 'n',
        activeClusterName: 'east',
        data: { 'atoll.region': 'w' },
        workflowExecutionRetentionPeriod: DAY,
      },
      'invalid-argument',
      /east lies in region e, not w/,
    ],
    [
      'archival',
      'RegisterNamespace',
      { namespace: 'n', historyArchivalState: 2, workflowExecutionRetentionPeriod: DAY },
      'unimplemented',
      /archiv/,
    ],
    ['an unknown name', 'DescribeNamespace', { namespace: 'moon' }, 'not-found', /moon/],
    ['an unknown id', 'DescribeNamespace', { id: 'moon' }, 'not-found', /moon/],
    ['neither name nor id', 'DescribeNamespace', {}, 'invalid-argument', /name or its id/],
  ];
  it.each(rows)('%s', async (_, method, request, code, message) => {
    const call = await fleet();
    await expect(call(method, request)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  it('says that there is no cell yet', async () => {
    const call = await fleet({ defaultRegion: 'mars' });
    const request = { namespace: 'n', workflowExecutionRetentionPeriod: DAY };
    await expect(call('RegisterNamespace', request)).rejects.toMatchObject({
      code: 'failed-precondition',
      message: expect.stringMatching(/Region mars has no cell \(regions with cells: e, w\)/),
    });
  });
});

type Described = {
  namespaceInfo: { name: string };
  replicationConfig: { activeClusterName: string };
};
type Page = { namespaces: Described[]; nextPageToken?: Uint8Array };
type Caller = (method: string, request?: object) => Promise<unknown>;

/** Calls a router of cells east and west, with namespace `orders` in east, as bytes. */
async function fleet(config: Parameters<typeof routerConfig>[0] = {}): Promise<Caller> {
  const map = await CachedFleetMap.open({
    store: new MemoryFleetMap(twoCells('orders')),
    log: silentLog,
    clock: new VirtualClock(),
  });
  const parts = {
    map,
    config: routerConfig(config),
    clock: new VirtualClock(),
    rng: new SeededRng(1),
    log: silentLog,
    metrics: routerMetrics(noMetrics),
  };
  const calls = localCalls(parts);
  return async (name, request = {}) => {
    const method = [...METHODS.values()].find((one) => one.name === name);
    const call = calls.get(name);
    if (method === undefined || call === undefined) throw new Error(`no ${name}`);
    return method.response.decode(await call(method.request.encode(request), {}));
  };
}

async function placements(call: Caller): Promise<Record<string, string>> {
  const page = (await call('ListNamespaces')) as Page;
  return Object.fromEntries(
    page.namespaces.map((one) => [one.namespaceInfo.name, one.replicationConfig.activeClusterName]),
  );
}
