import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../clock.ts';
import { AtollError } from '../errors.ts';
import type { RpcCall, RpcReply } from '../rpc/server-call.ts';
import { RpcServer, type RpcServerOptions } from '../rpc/server.ts';
import { parked } from '../rpc/testing/parked-handler.ts';
import { silentLink } from '../testing/silent-link.ts';
import { encodeFrame, encodeHead, FRAME, HELLO } from './frames.ts';
import { LinkPool, type LinkPoolOptions } from './link-pool.ts';
import type { Link } from './link.ts';

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Answer = {
  readonly status: string | undefined;
  readonly message: string;
  readonly body: Buffer;
};
/** An answer, or what became of the call without one. */
type Outcome = Answer | 'lost';

describe('calls over a link', () => {
  it('reach the handler with path, headers and body, and bring its answer back, small or large', async () => {
    const { pool } = await start(async (call) => [
      Buffer.from(`${call.path} ${String(call.headers['x'])} `),
      call.body,
    ]);
    for (const size of [0, 10, 300_000]) {
      const body = Buffer.alloc(size, 'b');
      const answer = await ask(pool.next(), '/s/m', body, { x: 'y' });
      expect(answer).toMatchObject({ status: '0' });
      expect(text(answer)).toBe(`/s/m y ${body.toString()}`);
    }
  });

  it('bring errors with code, message and details', async () => {
    const { pool } = await start(
      async () => {
        throw new AtollError('not-found', 'kein Ablauf “ü%”\n');
      },
      { encodeDetails: () => new Uint8Array([1, 2, 250]) },
    );
    expect(await ask(pool.next(), '/s/m')).toMatchObject({
      status: '5',
      message: 'kein Ablauf “ü%”\n',
    });
  });

  it('go in their thousands over two connections, and all come back', async () => {
    const { pool } = await start(async (call) => call.body);
    const bodies = Array.from({ length: 3_000 }, (_, i) => Buffer.from(`call ${i}`));
    const answers = await Promise.all(bodies.map((body) => ask(pool.next(), '/s/m', body)));
    expect(answers.map(text)).toEqual(bodies.map(String));
  });

  it('are refused one by one where a message is too large, compressed in an unknown way, or no frame', async () => {
    const { pool } = await start(async (call) => call.body, { maxMessageBytes: 1_000 });
    const link = pool.next();
    expect(await ask(link, '/s/m', Buffer.alloc(1_001))).toMatchObject({ status: '8' });
    expect(await ask(link, '/s/m', Buffer.alloc(1), { 'grpc-encoding': 'br' })).toMatchObject({
      status: '12',
    });
    expect(await send(link, '/s/m', Buffer.from([0, 0, 0]))).toMatchObject({ status: '3' });
    expect(text(await ask(link, '/s/m', Buffer.from('on')))).toBe('on');
  });

  it('are over at their deadline', async () => {
    const { pool } = await start(() => new Promise(() => {}));
    const answer = await ask(pool.next(), '/s/m', Buffer.alloc(0), { 'grpc-timeout': '20m' });
    expect(answer).toMatchObject({ status: '4' });
  });

  it('end for their handler when they are cancelled, and nothing is heard of them', async () => {
    const park = parked();
    const { pool, server } = await start(park.handle);
    const link = pool.next();
    const call = link.call(head('/s/m'), [framed(Buffer.alloc(0))], {
      answered: () => expect.unreachable('it was cancelled'),
      lost: () => expect.unreachable('it was cancelled'),
    });
    await park.began;
    link.cancel(call);
    expect(await park.reason).toMatchObject({ code: 'cancelled' });
    await until(() => server.callsInFlight === 0);
    expect(link.callsInFlight).toBe(0);
  });

  it('are refused beyond the bound of a connection', async () => {
    const park = parked();
    const { pool } = await start(park.handle, { maxConcurrentStreams: 1 });
    const link = pool.next();
    void ask(link, '/s/m');
    await park.began;
    expect(await ask(link, '/s/m')).toMatchObject({
      status: '8',
      message: expect.stringMatching(/1 calls already/),
    });
  });
});

describe('a link', () => {
  it('that its caller drops ends its calls for their handlers', async () => {
    const park = parked();
    const { pool } = await start(park.handle);
    const call = ask(pool.next(), '/s/m');
    await park.began;
    pool.close();
    expect(await call).toBe('lost');
    expect(await park.reason).toMatchObject({ code: 'cancelled' });
    expect(() => pool.next()).toThrow(/closed/);
  });

  it('to a server that closes lets calls end, takes no new ones, and is made anew', async () => {
    const park = parked();
    const { pool, server, address } = await start(park.handle);
    const link = pool.next();
    const call = ask(link, '/s/m');
    await park.began;
    const closed = server.close({ graceMs: 5_000 });
    expect(await park.reason).toMatchObject({ code: 'unavailable' });
    expect(await call).toMatchObject({ status: '14' });
    await closed;
    const again = new RpcServer({ handle: async () => Buffer.from('back') });
    await again.listen({ host: '127.0.0.1', port: Number(address.split(':')[1]) });
    cleanups.push(() => again.close({ graceMs: 0 }));
    expect(text(await ask(pool.next(), '/s/m'))).toBe('back');
  });

  it('to a host that falls silent is lost after a ping', async () => {
    const park = parked();
    const { address } = await start(async (call) =>
      call.path === '/s/park' ? park.handle(call) : call.body,
    );
    const silent = await silentLink(address);
    cleanups.push(() => silent.close());
    const ends: (Error | undefined)[] = [];
    const pool = poolTo(silent.address, {
      ...{ links: 1, pingEveryMs: 20, pingTimeoutMs: 200 },
      watch: () => ({ spoken: () => {}, closed: (error) => ends.push(error) }),
    });
    await ask(pool.next(), '/s/m');
    const call = ask(pool.next(), '/s/park');
    await park.began;
    silent.fallSilent();
    expect(await call).toBe('lost');
    expect(ends[0]?.message).toContain('has not answered a ping within 200 ms');
  });

  it('to a process that accepts and never speaks, or speaks something else, is lost', async () => {
    const mute = await listen(() => {});
    expect(await ask(poolTo(mute, { connectTimeoutMs: 30 }).next(), '/s/m')).toBe('lost');
    const other = await listen((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
    expect(await ask(poolTo(other).next(), '/s/m')).toBe('lost');
  });

  it('is refused by the server when it opens with something else', async () => {
    const { address } = await start(async (call) => call.body);
    for (const first of [Buffer.from('ATOLL-FISH 1\n'), Buffer.concat([HELLO, Buffer.alloc(13)])])
      await closedAfter(address, first);
  });

  it('greets byte by byte as well', async () => {
    const { address } = await start(async (call) => call.body);
    const socket = connect(Number(address.split(':')[1]), '127.0.0.1');
    cleanups.push(() => void socket.destroy());
    let seen = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => (seen = Buffer.concat([seen, chunk])));
    const frame = Buffer.concat(encodeFrame(FRAME.ping, 0));
    for (const byte of Buffer.concat([HELLO, frame])) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => seen.length >= HELLO.length + frame.length);
    expect(seen.subarray(0, HELLO.length)).toEqual(HELLO);
    expect(seen[HELLO.length + 4]).toBe(FRAME.pong);
  });
});

async function start(
  handle: (call: RpcCall) => Promise<RpcReply>,
  options: Partial<RpcServerOptions> = {},
) {
  const server = new RpcServer({ handle, ...options });
  const { host, port } = await server.listen({ host: '127.0.0.1', port: 0 });
  cleanups.push(() => server.close({ graceMs: 100 }));
  return { server, address: `${host}:${port}`, pool: poolTo(`${host}:${port}`) };
}

function poolTo(address: string, options: Partial<LinkPoolOptions> = {}): LinkPool {
  const pool = new LinkPool(address, {
    ...{ links: 2, clock: systemClock },
    ...{ connectTimeoutMs: 5_000, pingEveryMs: 10_000, pingTimeoutMs: 5_000 },
    watch: () => ({ spoken: () => {}, closed: () => {} }),
    ...options,
  });
  cleanups.push(() => pool.close());
  return pool;
}

function ask(link: Link, path: string, body = Buffer.alloc(0), headers = {}): Promise<Outcome> {
  return send(link, path, framed(body), headers);
}

function send(link: Link, path: string, bytes: Buffer, headers = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    link.call(head(path, headers), [bytes], {
      answered: (trailers, body) =>
        resolve({
          status: trailers['grpc-status'],
          message: decodeURIComponent(trailers['grpc-message'] ?? ''),
          body,
        }),
      lost: () => resolve('lost'),
    });
  });
}

function head(path: string, headers: Record<string, string> = {}): string {
  return encodeHead(headers, path);
}

function framed(message: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}

/** The message of an answer. */
function text(answer: Outcome): string {
  return answer === 'lost' ? answer : answer.body.subarray(5).toString();
}

/** An address behind which every connection gets this. */
async function listen(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Resolves when the server has closed a connection that opens with these bytes. */
function closedAfter(address: string, first: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(address.split(':')[1]), '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    socket.resume();
    socket.write(first);
  });
}

async function until(condition: () => boolean): Promise<void> {
  const patience = AbortSignal.timeout(8_000);
  while (!condition()) {
    patience.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
