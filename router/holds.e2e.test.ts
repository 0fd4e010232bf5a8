import { connect, type ClientHttp2Stream } from 'node:http2';
import { afterEach, describe, expect, it } from 'vitest';
import { namespaceByName, withNamespace } from '../fleet/table.ts';
import type { Placement } from '../fleet/map.ts';
import { updateMap } from '../fleet/update.ts';
import { methodOf } from '../wire/services.ts';
import { echo, refuse, refuseForHandover } from './testing/fake-cell.ts';
import { cleanups, cleanUp, fleet } from './testing/fleet.ts';
import { framed } from './testing/raw-client.ts';

const SERVICE = '/temporal.api.workflowservice.v1.WorkflowService';
const START = `${SERVICE}/StartWorkflowExecution`;
const POLL = `${SERVICE}/PollWorkflowTaskQueue`;
const HEADER = { 'temporal-namespace': 'orders' };
const HANDOVER = { state: { kind: 'handover', moveId: 'm', to: 'west' } } as const;
const ROLLED_BACK = { state: { kind: 'active' } } as const;
const FLIPPED = { ...ROLLED_BACK, active: 'west', epoch: 2 } as const;

type Fleet = Awaited<ReturnType<typeof fleet>>;

afterEach(cleanUp);

describe('calls of a namespace that moves', () => {
  it('wait while it is in handover, and are all answered by the new cell, in order', async () => {
    // One connection to the cell, whose order is then the order of the calls.
    const world = await fleet({}, { linksPerCell: 1 });
    await place(world, HANDOVER);
    const calls = Array.from({ length: 40 }, (_, i) =>
      start(world, i, { 'grpc-timeout': i % 2 === 0 ? '10S' : '9S' }, i % 4 === 3 ? POLL : START),
    );
    await held(world, 40);
    expect([world.east.calls.length, world.west.calls.length]).toEqual([0, 0]);
    await place(world, FLIPPED);
    for (const answer of await Promise.all(calls)) {
      expect(answer.trailers['grpc-status']).toBe('0');
      expect(answer.body.length).toBeGreaterThan(5);
    }
    expect(world.east.calls).toHaveLength(0);
    expect(world.west.calls.map(({ headers }) => headers['x-call'])).toEqual(
      Array.from({ length: 40 }, (_, i) => String(i)),
    );
    expect(world.west.calls[0]?.headers).toMatchObject({
      'atoll-epoch': '2',
      'grpc-timeout': expect.stringMatching(/^(9\d{3}|10000)m$/),
    });
    expect(world.metrics.value('router_holds')).toBe(0);
    expect(world.metrics.value('router_hold_ends_total', { end: 'released' })).toBe(40);
    expect(world.metrics.sum('router_errors_total')).toBe(0);
  });

  it('go on in the old cell when the move is rolled back', async () => {
    const world = await fleet();
    await place(world, HANDOVER);
    const calls = Array.from({ length: 10 }, (_, i) => start(world, i));
    await held(world, 10);
    await place(world, ROLLED_BACK);
    for (const answer of await Promise.all(calls)) expect(answer.trailers['grpc-status']).toBe('0');
    expect([world.east.calls.length, world.west.calls.length]).toEqual([10, 0]);
    expect(world.east.calls[0]?.headers['atoll-epoch']).toBe('1');
  });

  it('wait, too, when a cell refuses them before the map shows the handover', async () => {
    const world = await fleet({ east: refuseForHandover });
    // What the map's store knows, the router has not heard of.
    world.store.setAway(true);
    const calls = Array.from({ length: 5 }, (_, i) => start(world, i));
    await held(world, 5);
    world.store.setAway(false);
    await place(world, HANDOVER);
    await held(world, 5);
    const sent = world.east.calls.length;
    await place(world, FLIPPED);
    for (const answer of await Promise.all(calls)) expect(answer.trailers['grpc-status']).toBe('0');
    expect(world.east.calls).toHaveLength(sent);
    expect(world.west.calls).toHaveLength(5);
  });

  it('are sent again to a cell that opens a moment after the map says so', async () => {
    let refusals = 3;
    const world = await fleet({
      east: (call) => (refusals-- > 0 ? refuseForHandover(call) : echo(call)),
    });
    const answer = await start(world, 0);
    expect(answer.trailers['grpc-status']).toBe('0');
    expect(world.east.calls).toHaveLength(4);
    expect(world.metrics.value('router_retries_total')).toBe(3);
  });

  it('are given up, with nothing done, when cells refuse them again and again', async () => {
    const world = await fleet({ east: refuseForHandover }, { maxHandoverRefusals: 2 });
    const answer = await start(world, 0);
    expect(answer.trailers).toMatchObject({
      'grpc-status': '14',
      'grpc-message': expect.stringMatching(/orders is moving/),
    });
    expect(answer.headers).not.toHaveProperty('atoll-refused');
    expect(world.east.calls).toHaveLength(3);
  });

  it('wait when the owner that a cell named is in handover by now, and still get there', async () => {
    const gate = deferred();
    const world = await fleet({
      east: (call) => void gate.promise.then(() => refuse('east', 1)(call)),
    });
    const call = start(world, 0);
    await world.east.seen(1);
    await place(world, HANDOVER);
    gate.resolve();
    await held(world, 1);
    await place(world, FLIPPED);
    expect((await call).trailers['grpc-status']).toBe('0');
    expect(world.west.calls).toHaveLength(1);
  });

  it('go to the new owner at once when the map has changed, without asking the old one', async () => {
    const world = await fleet();
    expect((await start(world, 0)).trailers['grpc-status']).toBe('0');
    await place(world, FLIPPED);
    expect((await start(world, 1)).trailers['grpc-status']).toBe('0');
    expect([world.east.calls.length, world.west.calls.length]).toEqual([1, 1]);
  });
});

describe('a held call', () => {
  it.each([
    ['its own deadline', { 'grpc-timeout': '200m' }, {}],
    ['holdMs where it has none', {}, { holdMs: 150 }],
  ])('ends with UNAVAILABLE at %s, and says why', async (_, headers, config) => {
    const world = await fleet({}, config);
    await place(world, HANDOVER);
    const { trailers } = await start(world, 0, headers);
    expect(trailers['grpc-status']).toBe('14');
    expect(decodeURIComponent(String(trailers['grpc-message']))).toMatch(
      /moving from cell east to cell west; its call was held for \d+ ms/,
    );
    expect(world.metrics.value('router_hold_ends_total', { end: 'expired' })).toBe(1);
    expect([world.east.calls.length, world.west.calls.length]).toEqual([0, 0]);
  });

  it('leaves when its client goes away', async () => {
    const world = await fleet();
    await place(world, HANDOVER);
    const abort = new AbortController();
    const call = world.client.call(START, request(0), { headers: HEADER, signal: abort.signal });
    await held(world, 1);
    abort.abort();
    await call;
    await held(world, 0);
    expect(world.metrics.value('router_hold_ends_total', { end: 'gone' })).toBe(1);
    await place(world, FLIPPED);
    expect((await start(world, 1)).trailers['grpc-status']).toBe('0');
    expect(world.west.calls).toHaveLength(1);
  });

  it('beyond a bound is refused at once, by name, and counted', async () => {
    const world = await fleet({}, { heldCallsPerNamespace: 2 });
    await place(world, HANDOVER);
    const calls = [start(world, 0), start(world, 1)];
    await held(world, 2);
    const third = await start(world, 2);
    expect(third.trailers).toMatchObject({
      'grpc-status': '8',
      'grpc-message': expect.stringMatching(/heldCallsPerNamespace/),
    });
    expect(world.metrics.value('router_limited_total', { limit: 'heldCallsPerNamespace' })).toBe(1);
    await place(world, FLIPPED);
    for (const answer of await Promise.all(calls)) expect(answer.trailers['grpc-status']).toBe('0');
  });

  it('of a long request is read on once it is released, and arrives whole', async () => {
    const world = await fleet();
    await place(world, HANDOVER);
    const body = framed(Buffer.alloc(8 * 1024 * 1024, 'l'));
    const call = world.client.call(START, body, { headers: HEADER });
    await held(world, 1);
    await place(world, FLIPPED);
    expect((await call).body.equals(body)).toBe(true);
  });

  it('is not held before its request is whole, and is forgotten when its client goes', async () => {
    const world = await fleet();
    await place(world, HANDOVER);
    const stream = unfinished(world);
    stream.write(framed(Buffer.alloc(1024 * 1024)).subarray(0, 512 * 1024));
    await until(() => world.metrics.value('router_calls_in_flight') === 1);
    expect(world.metrics.value('router_holds') ?? 0).toBe(0);
    stream.close();
    await until(() => world.metrics.value('router_calls_in_flight') === 0);
  });

  it('is told to try another router when this one closes', async () => {
    const world = await fleet({}, { drainMs: 10 });
    await place(world, HANDOVER);
    const call = start(world, 0);
    await held(world, 1);
    const closed = world.router.close();
    expect((await call).trailers).toMatchObject({
      'grpc-status': '14',
      'grpc-message': expect.stringMatching(/shutting down/),
    });
    await closed;
  });
});

/** Changes where the namespace stands, and waits until the router has heard. */
async function place({ store, map }: Fleet, to: Partial<Placement>): Promise<void> {
  const change = (known: typeof map.map) => {
    const namespace = namespaceByName(known, 'orders');
    if (namespace === undefined) throw new Error('no namespace');
    return withNamespace(known, { ...namespace, placement: { ...namespace.placement, ...to } });
  };
  const { revision } = await updateMap(store, change, AbortSignal.timeout(5_000));
  await until(() => map.map.revision >= revision);
}

function start({ client }: Fleet, i: number, headers = {}, path = START) {
  return client.call(path, request(i), { headers: { ...HEADER, 'x-call': String(i), ...headers } });
}

function request(i: number): Buffer {
  return framed(methodOf(START).request.encode({ namespace: 'orders', workflowId: `w${i}` }));
}

/** A call whose request has not ended. */
function unfinished({ router }: Fleet): ClientHttp2Stream {
  const session = connect(`http://127.0.0.1:${router.address.port}`);
  cleanups.push(() => session.destroy());
  const stream = session.request({
    ...{ ':method': 'POST', ':path': START, 'content-type': 'application/grpc' },
    ...HEADER,
  });
  stream.on('error', () => {});
  return stream.resume();
}

function held({ metrics }: Fleet, calls: number): Promise<void> {
  return until(() => metrics.value('router_holds') === calls);
}

/** Waits for a condition of this process, on whose loop client, router and cells all run. */
async function until(condition: () => boolean): Promise<void> {
  const patience = AbortSignal.timeout(8_000);
  while (!condition()) {
    patience.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
