import { gzipSync } from 'node:zlib';
import { NativeConnection } from '@temporalio/worker';
import { afterEach, describe, expect, it } from 'vitest';
import { activate } from '../fleet/table.ts';
import { updateMap } from '../fleet/update.ts';
import { methodOf } from '../wire/services.ts';
import { decodeStatusDetails } from '../wire/failures.ts';
import { refuse } from './testing/fake-cell.ts';
import { cleanups, cleanUp, fleet, followed, router } from './testing/fleet.ts';
import { RawClient, framed } from './testing/raw-client.ts';

const SERVICE = '/temporal.api.workflowservice.v1.WorkflowService';
const START = `${SERVICE}/StartWorkflowExecution`;
const POLL = `${SERVICE}/PollWorkflowTaskQueue`;
const COMPLETE = `${SERVICE}/RespondWorkflowTaskCompleted`;
const HEADER = { 'temporal-namespace': 'orders' };
const OK = { 'grpc-status': '0' };
const MIB = 1024 * 1024;

afterEach(cleanUp);

describe('a call through the router', () => {
  it('reaches the active cell byte for byte, with who it is for and without what the client forged', async () => {
    const { client, east, west } = await fleet();
    const body = startRequest('orders');
    const forged = { 'atoll-namespace-id': 'forged', 'atoll-epoch': '99', 'atoll-anything': 'x' };
    const kept = {
      'grpc-timeout': '7S',
      'x-custom': 'kept',
      'x-custom-bin': 'AAEC',
      authorization: 'Bearer t',
    };
    const answer = await client.call(START, body, { headers: { ...HEADER, ...forged, ...kept } });
    expect(answer.body.equals(body)).toBe(true);
    expect(answer.trailers['grpc-status']).toBe('0');
    expect(east.calls[0]?.headers).toMatchObject({
      ...kept,
      'atoll-namespace-id': 'id-of-orders',
      'atoll-epoch': '1',
      'atoll-caller-hop': '1',
    });
    expect(east.calls[0]?.path).toBe(START);
    expect(east.calls[0]?.headers).not.toHaveProperty('atoll-anything');
    expect(west.calls).toHaveLength(0);
  });

  it('finds the namespace in the request when the header is missing, plain or gzipped, at any field number', async () => {
    const { client, east } = await fleet();
    const late = completeRequest('orders', 100_000);
    const zipped = framed(gzipSync(unframed(late)), true);
    await client.call(START, startRequest('orders'));
    await client.call(COMPLETE, late);
    await client.call(COMPLETE, zipped, { headers: { 'grpc-encoding': 'gzip' } });
    expect(east.calls.map((call) => call.headers['atoll-namespace-id'])).toEqual(
      Array(3).fill('id-of-orders'),
    );
    expect(east.calls[1]?.body.equals(late)).toBe(true);
    expect(east.calls[2]?.body.equals(zipped)).toBe(true);
  });

  it('carries 64 messages of 1 MiB at once, and one of 8 MiB, unharmed', async () => {
    const { client } = await fleet();
    const message = Buffer.alloc(MIB, 'm');
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) => {
        const body = framed(Buffer.concat([message, Buffer.from([i])]));
        return client
          .call(START, body, { headers: HEADER })
          .then((answer) => answer.body.equals(body));
      }),
    );
    expect(answers).toEqual(Array(64).fill(true));
    const large = framed(Buffer.alloc(8 * MIB, 'l'));
    expect((await client.call(START, large, { headers: HEADER })).body.equals(large)).toBe(true);
  });

  it('is refused above the limit of a request, and while the router holds too much, with nothing sent', async () => {
    const limits = { maxRequestBytes: MIB, bytesOfCalls: 2 * MIB };
    const { client, east } = await fleet({ east: () => {} }, limits);
    const ask = (bytes: number) =>
      client.call(START, framed(Buffer.alloc(bytes)), { headers: HEADER });
    const tooLarge = await ask(MIB + 1);
    expect(tooLarge.trailers).toMatchObject({
      'grpc-status': '8',
      'grpc-message': expect.stringMatching(/1048576/),
    });
    expect(east.calls).toHaveLength(0);
    const abort = new AbortController();
    const held = [1, 2].map(() =>
      client.call(POLL, framed(Buffer.alloc(MIB * 0.9)), {
        headers: HEADER,
        signal: abort.signal,
      }),
    );
    await east.seen(2);
    const full = await ask(MIB / 2);
    expect(full.trailers).toMatchObject({
      'grpc-status': '8',
      'grpc-message': expect.stringMatching(/router holds/),
    });
    expect(east.calls).toHaveLength(2);
    abort.abort();
    await Promise.all([...held, ...east.calls.map((call) => call.cancelled)]);
    void ask(MIB / 2);
    await east.seen(3);
  });

  it('gives back trailers and errors as the cell made them, with a message before them or not', async () => {
    const details = { 'grpc-status-details-bin': 'CAUSBGhleQ', 'x-more': 'kept' };
    const { client } = await fleet({
      east: (call) => {
        const status = { 'grpc-status': '5', 'grpc-message': 'not%20here', ...details };
        call.reply(
          status,
          call.headers['x-how'] === 'late' ? framed(Buffer.from('partial')) : undefined,
        );
      },
    });
    for (const how of ['early', 'late']) {
      const answer = await client.call(START, startRequest('orders'), {
        headers: { ...HEADER, 'x-how': how },
      });
      expect(answer.trailers).toMatchObject({
        'grpc-status': '5',
        'grpc-message': 'not%20here',
        ...details,
      });
      expect(answer.body.length).toBe(how === 'late' ? 12 : 0);
    }
  });

  it('is cancelled at the cell when the client cancels it', async () => {
    const { client, east } = await fleet({ east: () => {} });
    const abort = new AbortController();
    const call = client.call(POLL, startRequest('orders'), {
      headers: HEADER,
      signal: abort.signal,
    });
    await east.seen(1);
    abort.abort();
    await call;
    await east.calls[0]?.cancelled;
  });

  it('fails at once with UNAVAILABLE when its cell is killed', async () => {
    const { client, east } = await fleet({ east: () => {} });
    const parked = Array.from({ length: 50 }, () =>
      client.call(POLL, startRequest('orders'), { headers: HEADER }),
    );
    await east.seen(50);
    const killedAt = performance.now();
    await east.kill();
    for (const answer of await Promise.all(parked)) {
      expect(answer.trailers).toMatchObject({
        'grpc-status': '14',
        'grpc-message': expect.stringMatching(/cell/i),
      });
    }
    expect(performance.now() - killedAt).toBeLessThan(1_000);
    const next = await client.call(START, startRequest('orders'), { headers: HEADER });
    expect(next.trailers['grpc-status']).toBe('14');
  });
});

describe('a cell that is not active', () => {
  it('is left for the owner once, with the owner’s epoch and the same bytes', async () => {
    const { client, east, west, store } = await fleet({ east: refuse('west', 2) });
    const body = startRequest('orders');
    const moved = updateMap(store, (map) => activate(map, toWest), AbortSignal.timeout(5_000));
    await moved;
    const answer = await client.call(START, body, {
      headers: { ...HEADER, 'grpc-timeout': '10S' },
    });
    expect(answer.trailers['grpc-status']).toBe('0');
    expect(answer.body.equals(body)).toBe(true);
    expect(west.calls[0]?.headers).toMatchObject({
      'atoll-epoch': '2',
      'atoll-namespace-id': 'id-of-orders',
    });
    expect(east.calls.length).toBeLessThanOrEqual(1);
  });

  it('is believed about the owner while the map’s store is away', async () => {
    const { client, east, west, store } = await fleet({ east: refuse('west', 2) });
    store.setAway(true);
    const answer = await client.call(START, startRequest('orders'), {
      headers: { ...HEADER, 'grpc-timeout': '10S' },
    });
    expect(answer.trailers['grpc-status']).toBe('0');
    expect(east.calls).toHaveLength(1);
    expect(west.calls[0]?.headers['atoll-epoch']).toBe('2');
    expect(west.calls[0]?.headers['grpc-timeout']).toMatch(/^(9\d{3}|10000)m$/);
  });

  it('shows to the client as UNAVAILABLE when the owner refuses too, and never a third time', async () => {
    const { client, east, west } = await fleet({
      east: refuse('west', 2),
      west: refuse('east', 3),
    });
    const answer = await client.call(START, startRequest('orders'), { headers: HEADER });
    expect(answer.trailers).toMatchObject({
      'grpc-status': '14',
      'grpc-message': expect.stringMatching(/orders is moving/),
    });
    expect(answer.headers).not.toHaveProperty('atoll-refused');
    expect([east.calls.length, west.calls.length]).toEqual([1, 1]);
  });
});

describe('a call that cannot be routed', () => {
  const rows: readonly [string, string, Buffer, Record<string, string>, string, RegExp][] = [
    ['names no namespace', START, framed(Buffer.alloc(0)), {}, '3', /temporal-namespace/],
    ['names one that is unknown', START, startRequest('moon'), {}, '5', /moon/],
    [
      'has a header that is unknown',
      START,
      startRequest('orders'),
      { 'temporal-namespace': 'moon' },
      '5',
      /moon/,
    ],
    [
      'is no protobuf',
      START,
      framed(Buffer.from([0xff, 0xff, 0xff])),
      {},
      '3',
      /not a valid message/,
    ],
    ['is cut short', START, startRequest('orders').subarray(0, 6), {}, '3', /ends within/],
    ['is no gzip though it says so', START, framed(Buffer.from('junk'), true), {}, '3', /inflated/],
    ['goes to an unknown method', `${SERVICE}/Frobnicate`, Buffer.alloc(0), {}, '12', /Frobnicate/],
    ['goes to an unknown service', '/a.b.C/D', Buffer.alloc(0), {}, '12', /a\.b\.C/],
    [
      'would change a namespace',
      `${SERVICE}/DeprecateNamespace`,
      startRequest('orders'),
      {},
      '12',
      /DeprecateNamespace/,
    ],
  ];
  it.each(rows)('%s', async (_, path, body, headers, status, message) => {
    const { client, east } = await fleet();
    const answer = await client.call(path, body, { headers });
    expect(decodeURIComponent(String(answer.trailers['grpc-message']))).toMatch(message);
    expect(answer.trailers['grpc-status']).toBe(status);
    expect(east.calls).toHaveLength(0);
  });

  it('carries the detail by which SDKs recognise an unknown namespace', async () => {
    const { client } = await fleet();
    const answer = await client.call(START, startRequest('moon'));
    const bytes = Buffer.from(String(answer.trailers['grpc-status-details-bin']), 'base64');
    expect(decodeStatusDetails(bytes)).toEqual([
      ['NamespaceNotFoundFailure', { namespace: 'moon' }],
    ]);
  });
});

describe('the router itself', () => {
  it('stops official clients from compressing, without costing them their capabilities', async () => {
    const { router: running, east } = await fleet({
      east: (call) => call.reply(OK, framed(Buffer.alloc(0))),
    });
    const connection = await NativeConnection.connect({
      address: `127.0.0.1:${running.address.port}`,
    });
    cleanups.push(() => connection.close());
    const info = await connection.workflowService.getSystemInfo({});
    expect(info.capabilities?.sdkMetadata).toBe(true);
    await connection.workflowService.startWorkflowExecution({
      namespace: 'orders',
      workflowId: 'w',
    });
    expect(east.calls[0]?.headers['grpc-encoding']).toBeUndefined();
  });

  it('serves existing namespaces while the map’s store is away (P12), and refuses new ones clearly', async () => {
    const { client, store } = await fleet();
    store.setAway(true);
    expect((await client.call(START, startRequest('orders'))).trailers['grpc-status']).toBe('0');
    const register = methodOf(`${SERVICE}/RegisterNamespace`);
    const request = { namespace: 'new', workflowExecutionRetentionPeriod: { seconds: 86_400 } };
    const answer = await client.call(register.path, framed(register.request.encode(request)));
    expect(answer.trailers).toMatchObject({
      'grpc-status': '14',
      'grpc-message': expect.stringMatching(/away/),
    });
  });

  it('registers a namespace whose calls are routed at once, by this router and by another', async () => {
    const { client, east, west, store } = await fleet();
    const other = new RawClient(await router(await followed(store)));
    cleanups.push(() => other.close());
    const register = methodOf(`${SERVICE}/RegisterNamespace`);
    const request = { namespace: 'new', workflowExecutionRetentionPeriod: { seconds: 86_400 } };
    const bytes = framed(register.request.encode(request));
    expect((await client.call(register.path, bytes)).trailers['grpc-status']).toBe('0');
    expect((await other.call(START, startRequest('new'))).trailers['grpc-status']).toBe('0');
    expect((await client.call(START, startRequest('new'))).trailers['grpc-status']).toBe('0');
    expect([east.calls.length, west.calls.length]).toEqual([0, 2]);
    const again = await client.call(register.path, bytes);
    expect(again.trailers).toMatchObject({ 'grpc-status': '6' });
  });

  it('says which port is in use and which flag chooses another', async () => {
    const { router: first, map } = await fleet();
    await expect(router(map, first.address.port)).rejects.toMatchObject({
      code: 'failed-precondition',
      message: expect.stringMatching(new RegExp(`${first.address.port}.*--port`)),
    });
  });

  it('ends parked calls with UNAVAILABLE when it closes, within its drain time', async () => {
    const { client, router: running, east } = await fleet({ east: () => {} }, { drainMs: 50 });
    const parked = client.call(POLL, startRequest('orders'), { headers: HEADER });
    await east.seen(1);
    const closed = running.close();
    expect((await parked).trailers).toMatchObject({
      'grpc-status': '14',
      'grpc-message': expect.stringMatching(/shutting down/),
    });
    await closed;
  });

  it('tells a browser what it speaks', async () => {
    const { router: running } = await fleet();
    const client = new RawClient(running);
    cleanups.push(() => client.close());
    const answer = await client.call('/', Buffer.alloc(0), {
      headers: { 'content-type': 'text/html' },
    });
    expect(answer.headers[':status']).toBe(415);
  });
});

const toWest = { namespaceId: 'id-of-orders', cell: 'west', epoch: 1 };

function startRequest(namespace: string): Buffer {
  return framed(methodOf(START).request.encode({ namespace, workflowId: 'w1', requestId: 'r1' }));
}

/** A request whose namespace stands behind that many bytes. */
function completeRequest(namespace: string, tokenBytes: number): Buffer {
  return framed(
    methodOf(COMPLETE).request.encode({ taskToken: Buffer.alloc(tokenBytes, 7), namespace }),
  );
}

function unframed(frame: Buffer): Buffer {
  return frame.subarray(5);
}
