import { connect } from 'node:http2';
import { createServer, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { AtollError } from '../errors.ts';
import { RpcChannel } from './client.ts';
import type { RpcCall, RpcReply } from './server-call.ts';
import { RpcServer, type RpcServerOptions } from './server.ts';
import { parked } from './testing/parked-handler.ts';
import { silentLink } from '../testing/silent-link.ts';

const text = (value: string) => new TextEncoder().encode(value);
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(
  handle: (call: RpcCall) => Promise<RpcReply>,
  options: Partial<RpcServerOptions> = {},
) {
  const server = new RpcServer({ handle, ...options });
  const { host, port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const channel = new RpcChannel(`${host}:${port}`, { sessions: 2 });
  cleanups.push(
    () => server.close({ graceMs: 100 }),
    () => channel.close(),
  );
  return { server, channel, address: `${host}:${port}` };
}

/** A stream of our own, for requests that no proper client sends. */
function raw(address: string, headers: Record<string, string>, body: Uint8Array) {
  const session = connect(`http://${address}`);
  cleanups.push(() => session.destroy());
  const stream = session.request({
    ':method': 'POST',
    ':path': '/s/m',
    'content-type': 'application/grpc',
    ...headers,
  });
  stream.end(body);
  return new Promise<Record<string, unknown>>((resolve, reject) => {
    let seen: Record<string, unknown> = {};
    stream.on('response', (h) => (seen = { ...seen, ...h }));
    stream.on('trailers', (h: object) => (seen = { ...seen, ...h }));
    stream.on('error', reject);
    stream.on('close', () => resolve(seen));
    stream.resume();
  });
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('the call succeeded'),
    (error: unknown) => error as AtollError,
  );

describe('unary gRPC over HTTP/2', () => {
  test('the handler gets path, headers and body, and its answer comes back', async () => {
    const { channel } = await start(async (call) =>
      text(`${call.path} ${String(call.headers['x'])} ${Buffer.from(call.body).toString()}`),
    );
    const { body, trailers } = await channel.call('/s/m', { x: 'y' }, text('hello'), {
      timeoutMs: 5_000,
    });
    expect(Buffer.from(body).toString()).toBe('/s/m y hello');
    expect(trailers['grpc-status']).toBe('0');
  });

  test('an answer in chunks is one message, small or large', async () => {
    const { channel } = await start(async (call) => {
      const size = Number(Buffer.from(call.body).toString());
      return [new Uint8Array(size).fill(1), new Uint8Array(size).fill(2)];
    });
    for (const size of [0, 3, 700_000]) {
      const { body } = await channel.call('/s/m', {}, text(String(size)), { timeoutMs: 5_000 });
      expect(body.length).toBe(size * 2);
      expect(body.at(-1)).toBe(size === 0 ? undefined : 2);
    }
  });

  test('an error arrives with code, message and details', async () => {
    const { channel } = await start(
      async () => {
        throw new AtollError('not-found', 'kein Ablauf “ü%” 🌊\n');
      },
      { encodeDetails: () => new Uint8Array([1, 2, 250]) },
    );
    const error = await failure(channel.call('/s/m', {}, text(''), { timeoutMs: 5_000 }));
    expect(error).toMatchObject({ code: 'not-found', message: 'kein Ablauf “ü%” 🌊\n' });
    expect(error.detail?.value).toEqual({ status: 5, details: new Uint8Array([1, 2, 250]) });
  });

  test('a gzipped request is unpacked', async () => {
    const { address } = await start(async (call) => call.body);
    const packed = gzipSync(text('x'.repeat(1000)));
    const body = Buffer.concat([Buffer.from([1, 0, 0, 0, packed.length]), packed]);
    expect(await raw(address, { 'grpc-encoding': 'gzip' }, body)).toMatchObject({
      'grpc-status': '0',
    });
  });

  test('a gzip bomb is refused at the size limit', async () => {
    const { address } = await start(async (call) => call.body, { maxMessageBytes: 10_000 });
    const packed = gzipSync(new Uint8Array(5_000_000));
    const header = Buffer.alloc(5);
    header[0] = 1;
    header.writeUInt32BE(packed.length, 1);
    const seen = await raw(address, { 'grpc-encoding': 'gzip' }, Buffer.concat([header, packed]));
    expect(seen).toMatchObject({ 'grpc-status': '8' });
  });

  test('a request over the limit is refused, and the connection goes on', async () => {
    const { channel } = await start(async () => text('ok'), { maxMessageBytes: 10_000 });
    const error = await failure(
      channel.call('/s/m', {}, new Uint8Array(200_000), { timeoutMs: 5_000 }),
    );
    expect(error).toMatchObject({ code: 'resource-exhausted' });
    const { body } = await channel.call('/s/m', {}, text('small'), { timeoutMs: 5_000 });
    expect(Buffer.from(body).toString()).toBe('ok');
  });

  test.each([
    ['an unknown compression is unimplemented', { 'grpc-encoding': 'br' }, { 'grpc-status': '12' }],
    [
      'another content type is no gRPC call',
      { 'content-type': 'application/json' },
      { ':status': 415 },
    ],
    ['gRPC-Web is no gRPC call', { 'content-type': 'application/grpc-web' }, { ':status': 415 }],
    ['a body that is no frame is an invalid argument', {}, { 'grpc-status': '3' }],
  ])('%s', async (_name, headers, expected) => {
    const { address } = await start(async (call) => call.body);
    expect(await raw(address, headers as Record<string, string>, text('abc'))).toMatchObject(
      expected,
    );
  });

  test('a client that goes away aborts the handler', async () => {
    const park = parked();
    const { channel } = await start(park.handle);
    const gone = new AbortController();
    const call = failure(
      channel.call('/s/m', {}, text(''), { timeoutMs: 60_000, signal: gone.signal }),
    );
    await park.began;
    gone.abort();
    expect(await call).toMatchObject({ code: 'cancelled' });
    expect(await park.reason).toMatchObject({ code: 'cancelled', message: 'the client is gone' });
  });

  test('a client that goes away while the handler works does not hurt the server', async () => {
    const park = parked();
    let answer = (_reply: RpcReply) => {};
    const late = new Promise<RpcReply>((resolve) => (answer = resolve));
    const { channel, server } = await start((call) =>
      call.path === '/late'
        ? (void park.handle(call).catch(() => {}), late)
        : Promise.resolve(text('ok')),
    );
    const gone = new AbortController();
    const call = failure(
      channel.call('/late', {}, text(''), { timeoutMs: 60_000, signal: gone.signal }),
    );
    await park.began;
    gone.abort();
    await call;
    await park.reason;
    answer(text('nobody reads this'));
    const { body } = await channel.call('/s/m', {}, text(''), { timeoutMs: 5_000 });
    expect(Buffer.from(body).toString()).toBe('ok');
    expect(server.callsInFlight).toBeLessThanOrEqual(1);
  });

  test('the deadline ends a call on both sides', async () => {
    const park = parked();
    const { address } = await start(park.handle);
    const seen = await raw(address, { 'grpc-timeout': '30m' }, new Uint8Array(5));
    expect(seen).toMatchObject({ 'grpc-status': '4' });
    expect(await park.reason).toMatchObject({ code: 'deadline-exceeded' });
  });

  test('closing the server aborts parked calls and ends within the grace', async () => {
    const park = parked();
    const { channel, server } = await start(park.handle);
    const call = failure(channel.call('/s/m', {}, text(''), { timeoutMs: 60_000 }));
    await park.began;
    await server.close({ graceMs: 2_000 });
    expect(await call).toMatchObject({ code: 'unavailable' });
  });

  test('a handler that ignores the close is cut off when the grace is over', async () => {
    let began = () => {};
    const arrived = new Promise<void>((resolve) => (began = resolve));
    const { channel, server } = await start(() => (began(), new Promise(() => {})));
    const call = failure(channel.call('/s/m', {}, text(''), { timeoutMs: 60_000 }));
    await arrived;
    await server.close({ graceMs: 20 });
    expect(await call).toMatchObject({ code: 'unavailable' });
  });

  test('a peer that dies fails its parked calls at once, and the channel reconnects', async () => {
    const park = parked();
    const { channel, server, address } = await start(park.handle);
    const call = failure(channel.call('/s/m', {}, text(''), { timeoutMs: 60_000 }));
    await park.began;
    await server.close({ graceMs: 0 });
    expect(await call).toMatchObject({ code: 'unavailable' });
    const refused = await failure(channel.call('/s/m', {}, text(''), { timeoutMs: 5_000 }));
    expect(refused).toMatchObject({ code: 'unavailable' });
    expect(refused.message).toContain('ECONNREFUSED');
    const again = new RpcServer({ handle: async () => text('back') });
    await again.listen({ host: '127.0.0.1', port: Number(address.split(':')[1]) });
    cleanups.push(() => again.close({ graceMs: 100 }));
    const { body } = await channel.call('/s/m', {}, text(''), { timeoutMs: 5_000 });
    expect(Buffer.from(body).toString()).toBe('back');
  });

  test('a peer that takes the connection and never speaks is given up after the time to connect', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    cleanups.push(() => void silent.close());
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as AddressInfo;
    const channel = new RpcChannel(`127.0.0.1:${port}`, { connectTimeoutMs: 20 });
    cleanups.push(() => channel.close());
    const error = await failure(channel.call('/s/m', {}, text(''), { timeoutMs: 60_000 }));
    expect(error).toMatchObject({ code: 'unavailable' });
    expect(error.message).toMatch(/no connection to .* within 20 ms/);
  });

  test('a peer that falls silent in the midst of a call is given up after a ping', async () => {
    const park = parked();
    const { address } = await start(async (call) =>
      call.path === '/s/park' ? park.handle(call) : text(''),
    );
    const link = await silentLink(address);
    cleanups.push(() => link.close());
    const pings = { pingEveryMs: 20, pingTimeoutMs: 500 };
    const channel = new RpcChannel(link.address, { sessions: 1, ...pings });
    cleanups.push(() => channel.close());
    await channel.call('/s/m', {}, text(''), { timeoutMs: 60_000 });
    const call = failure(channel.call('/s/park', {}, text(''), { timeoutMs: 60_000 }));
    await park.began;
    link.fallSilent();
    const error = await call;
    expect(error).toMatchObject({ code: 'unavailable' });
    expect(error.message).toContain('has not answered a ping within 500 ms');
  });

  test('a call on a closed channel, or with an aborted signal, fails at once', async () => {
    const { channel } = await start(async (call) => call.body);
    const signal = AbortSignal.abort();
    const aborted = failure(channel.call('/s/m', {}, text(''), { timeoutMs: 60_000, signal }));
    expect(await aborted).toMatchObject({ code: 'cancelled' });
    channel.close();
    const closed = failure(channel.call('/s/m', {}, text(''), { timeoutMs: 60_000 }));
    expect(await closed).toMatchObject({ code: 'unavailable' });
  });

  test('a port in use is said in words', async () => {
    const { address } = await start(async () => text(''));
    const second = new RpcServer({ handle: async () => text('') });
    const error = await failure(
      second.listen({ host: '127.0.0.1', port: Number(address.split(':')[1]) }),
    );
    expect(error).toMatchObject({ code: 'failed-precondition' });
    expect(error.message).toContain('is in use by another program');
  });

  test('a thousand calls in flight over two connections all come back', async () => {
    const { channel } = await start(async (call) => call.body);
    const calls = Array.from({ length: 1000 }, (_, i) =>
      channel.call('/s/m', {}, text(String(i)), { timeoutMs: 20_000 }),
    );
    const bodies = (await Promise.all(calls)).map(({ body }) =>
      Number(Buffer.from(body).toString()),
    );
    expect(bodies).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  });
});
