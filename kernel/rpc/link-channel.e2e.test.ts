import { afterEach, beforeEach, expect, test } from 'vitest';
import { AtollError } from '../errors.ts';
import { systemClock } from '../clock.ts';
import { LinkChannel } from './link-channel.ts';
import { RpcServer } from './server.ts';
import type { RpcCall, RpcReply } from './server-call.ts';

let server: RpcServer;
let channel: LinkChannel;
let handle: (call: RpcCall) => Promise<RpcReply>;

beforeEach(async () => {
  handle = async ({ body }) => body;
  server = new RpcServer({ handle: (call) => handle(call) });
  const { host, port } = await server.listen({ host: '127.0.0.1', port: 0 });
  channel = new LinkChannel(`${host}:${port}`, { clock: systemClock, links: 2 });
});
afterEach(async () => {
  channel.close();
  await server.close({ graceMs: 100 });
});

const call = (text: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
  channel.call('/p.S/M', { 'a-header': 'x' }, Buffer.from(text), { timeoutMs: 5_000, ...options });

test('a call is answered with its message, and brings its path and headers', async () => {
  let seen: unknown;
  handle = async ({ path, headers, body }) => {
    seen = [path, headers['a-header']];
    return Buffer.concat([body, Buffer.from('!')]);
  };
  const large = 'y'.repeat(3_000_000);
  expect(Buffer.from(await call(large)).toString()).toBe(`${large}!`);
  expect(seen).toEqual(['/p.S/M', 'x']);
});

test('a refusal keeps its code and its message', async () => {
  handle = () => Promise.reject(new AtollError('failed-precondition', 'not now: möchte nicht'));
  const refused = await call('x').catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'failed-precondition', message: 'not now: möchte nicht' });
});

test('a call that takes too long, or whose caller leaves, ends; the other side is told', async () => {
  const left: string[] = [];
  handle = ({ signal, body }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        left.push(Buffer.from(body).toString());
        reject(new AtollError('cancelled', 'gone'));
      });
    });
  const late = await call('late', { timeoutMs: 50 }).catch((error: unknown) => error);
  expect(late).toMatchObject({ code: 'deadline-exceeded' });
  const leaving = new AbortController();
  const gone = call('gone', { signal: leaving.signal }).catch((error: unknown) => error);
  // One that is answered in between was sent behind it.
  const waiting = handle;
  handle = async ({ body }) => body;
  await call('between');
  handle = waiting;
  leaving.abort();
  expect(await gone).toMatchObject({ code: 'cancelled' });
  await call('last', { timeoutMs: 50 }).catch(() => {});
  expect(left).toContain('late');
});

test('a call on a connection that ends is unavailable, and so is one after the end', async () => {
  handle = () => new Promise(() => {});
  const open = call('x').catch((error: unknown) => error);
  channel.close();
  expect(await open).toMatchObject({ code: 'unavailable' });
  await expect(call('y')).rejects.toMatchObject({ code: 'unavailable' });
});
