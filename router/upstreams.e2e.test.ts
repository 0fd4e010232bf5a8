import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { opossumBreakers } from '../kernel/breaker-opossum.ts';
import { must, twoCells } from '../fleet/conformance/sample.ts';
import type { FleetMap } from '../fleet/map.ts';
import { startMove } from '../fleet/move-changes.ts';
import { systemClock } from '../kernel/clock.ts';
import type { AtollError } from '../kernel/errors.ts';
import { RpcServer } from '../kernel/rpc/server.ts';
import { Upstreams } from './upstreams.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

describe('a cell that is away', () => {
  it('is not waited for any more, and is found again by itself', async () => {
    const address = await silentAddress();
    const changes: boolean[] = [];
    const upstreams = open((isOpen) => changes.push(isOpen));
    await until(() => isRefused(upstreams, address));
    expect(changes).toEqual([true]);
    await cell(Number(address.split(':')[1]));
    await until(() => !isRefused(upstreams, address));
    expect(changes).toEqual([true, false]);
  });

  it('is away, too, when connections are accepted and nobody speaks on them', async () => {
    const sockets: Socket[] = [];
    const stopped = createServer((socket) => void sockets.push(socket));
    cleanups.push(() => {
      for (const socket of sockets) socket.destroy();
      stopped.close();
    });
    await listening(stopped, 0);
    const { port } = stopped.address() as AddressInfo;
    const upstreams = open(() => {});
    await until(() => isRefused(upstreams, `127.0.0.1:${port}`), 20_000);
    const made = sockets.length;
    for (let i = 0; i < 50; i++) expect(isRefused(upstreams, `127.0.0.1:${port}`)).toBe(true);
    expect(sockets.length - made, 'no call makes a connection').toBe(0);
  }, 30_000);

  it('is connected to before a namespace that moves there is switched', async () => {
    const sockets: Socket[] = [];
    const target = createServer((socket) => void sockets.push(socket));
    cleanups.push(() => {
      for (const socket of sockets) socket.destroy();
      target.close();
    });
    await listening(target, 0);
    const { port } = target.address() as AddressInfo;
    const upstreams = open(() => {});
    const ask = { namespaceId: 'id-of-a', moveId: 'm', to: 'west', at: 0, maxPauseMs: 5_000 };
    const moving = must(startMove(twoCells('a'), { ...ask, autoConfirm: false }));
    const cells = {
      ...moving.cells,
      west: { ...moving.cells['west'], address: `127.0.0.1:${port}` },
    };
    upstreams.prepare({ ...moving, cells } as FleetMap);
    await until(() => sockets.length === 2);
  });

  it('does not make others away', async () => {
    const away = await silentAddress();
    const here = `127.0.0.1:${await cell(0)}`;
    const upstreams = open(() => {});
    await until(() => isRefused(upstreams, away));
    expect(isRefused(upstreams, here)).toBe(false);
  });
});

function open(onBreaker: (isOpen: boolean) => void): Upstreams {
  const upstreams = new Upstreams({
    links: 2,
    clock: systemClock,
    makeBreaker: opossumBreakers({ failures: 2, resetMs: 100 }),
    onBreaker: (_, isOpen) => onBreaker(isOpen),
  });
  cleanups.push(() => upstreams.close());
  return upstreams;
}

/** Something that answers. @returns its port */
async function cell(port: number): Promise<number> {
  const server = new RpcServer({ handle: async () => new Uint8Array(0) });
  cleanups.push(() => void server.close({ graceMs: 0 }));
  return (await server.listen({ host: '127.0.0.1', port })).port;
}

/** What a call meets at the door. */
function isRefused(upstreams: Upstreams, address: string): boolean {
  try {
    upstreams.link(address);
    return false;
  } catch (error) {
    expect((error as AtollError).code).toBe('unavailable');
    return true;
  }
}

/** An address at which nobody listens. */
async function silentAddress(): Promise<string> {
  const server = createServer();
  await listening(server, 0);
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}

function listening(server: Pick<Server, 'listen'>, port: number): Promise<void> {
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
}

async function until(holds: () => boolean, withinMs = 10_000): Promise<void> {
  const giveUpAt = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > giveUpAt) throw new Error('it did not come to hold');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
