import { describe, expect, it } from 'vitest';
import { AtollError } from '../kernel/errors.ts';
import { silentLog } from '../kernel/log.ts';
import { VirtualClock } from '../kernel/testing/virtual-clock.ts';
import { CachedFleetMap } from './cached-map.ts';
import { must, registration, twoCells } from './conformance/sample.ts';
import type { LastKnownMap } from './last-known-map.ts';
import type { FleetMap } from './map.ts';
import { MemoryFleetMap } from './memory/fleet-map.ts';
import { activate, registerNamespace } from './table.ts';
import type { FleetMapStore } from './fleet-map.ts';
import { updateMap } from './update.ts';

describe('the followed fleet map', () => {
  it('finds namespaces by name and id, deleted ones by id only', async () => {
    const map = twoCells('a', 'b');
    const a = map.namespaces['id-of-a'];
    if (a === undefined) throw new Error('no a');
    const store = new MemoryFleetMap({
      ...map,
      namespaces: { ...map.namespaces, 'id-of-a': { ...a, state: 'deleted' } },
    });
    const cached = await CachedFleetMap.open({ store, log: silentLog, clock: new VirtualClock() });
    expect(cached.namespaceByName('b')?.id).toBe('id-of-b');
    expect(cached.namespaceByName('a')).toBeUndefined();
    expect(cached.namespaceById('id-of-a')?.state).toBe('deleted');
    expect(
      cached.namespaceByName('constructor') ?? cached.namespaceById('constructor'),
    ).toBeUndefined();
  });

  it('follows the changes of others and tells its listeners', async () => {
    const store = new MemoryFleetMap(twoCells('a'));
    const [one, other] = await Promise.all([
      CachedFleetMap.open({ store, log: silentLog, clock: new VirtualClock() }),
      CachedFleetMap.open({ store, log: silentLog, clock: new VirtualClock() }),
    ]);
    const told = new Promise<FleetMap>((resolve) => other.onChange(resolve));
    await one.update(
      (map) => activate(map, { namespaceId: 'id-of-a', cell: 'west', epoch: 1 }),
      soon(),
    );
    expect((await told).namespaces['id-of-a']?.placement.epoch).toBe(2);
    expect(other.namespaceByName('a')?.placement.active).toBe('west');
  });

  it('goes on from its last map while the store is away (P12), and catches up on return', async () => {
    const store = new MemoryFleetMap(twoCells('a'));
    const cached = await CachedFleetMap.open({ store, log: silentLog, clock: new VirtualClock() });
    store.setAway(true);
    await cached.refresh();
    expect(cached.namespaceByName('a')?.placement.active).toBe('east');
    await expect(
      cached.update((map) => registerNamespace(map, registration('b')), soon()),
    ).rejects.toMatchObject({
      code: 'unavailable',
    });
    store.setAway(false);
    await cached.update((map) => registerNamespace(map, registration('b')), soon());
    expect(cached.namespaceByName('b')).toBeDefined();
  });

  it('starts from the map on disk when the store is away, and not at all without either', async () => {
    const store = new MemoryFleetMap(twoCells('a'));
    const lastKnown = memoryLastKnown();
    const first = await CachedFleetMap.open({
      store,
      log: silentLog,
      clock: new VirtualClock(),
      lastKnown,
    });
    await first.update((map) => registerNamespace(map, registration('b')), soon());
    await first.close();
    store.setAway(true);
    const second = await CachedFleetMap.open({
      store,
      log: silentLog,
      clock: new VirtualClock(),
      lastKnown,
    });
    expect(second.namespaceByName('b')).toBeDefined();
    await expect(
      CachedFleetMap.open({ store, log: silentLog, clock: new VirtualClock() }),
    ).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  it('asks a store that was away at the start until it answers: nobody announces what changed before', async () => {
    const moved = must(activate(twoCells('a'), { namespaceId: 'id-of-a', cell: 'west', epoch: 1 }));
    const clock = new VirtualClock();
    let away = true;
    let reads = 0;
    const store: FleetMapStore = {
      ...deaf(new MemoryFleetMap(moved)),
      read: async () => {
        reads += 1;
        if (away) throw new AtollError('unavailable', 'away');
        return moved;
      },
    };
    const lastKnown = memoryLastKnown(twoCells('a'));
    const cached = await CachedFleetMap.open({ store, log: silentLog, clock, lastKnown });
    await clock.advanceSettled(10_000);
    expect(cached.namespaceByName('a')?.placement.active).toBe('east');
    away = false;
    await clock.advanceSettled(10_000);
    expect(cached.namespaceByName('a')?.placement.active).toBe('west');
    const enough = reads;
    await clock.advanceSettled(60_000);
    expect(reads).toBe(enough);
  });

  it('asks no more once it is closed', async () => {
    const clock = new VirtualClock();
    const store = new MemoryFleetMap();
    store.setAway(true);
    const lastKnown = memoryLastKnown(twoCells('a'));
    const cached = await CachedFleetMap.open({ store, log: silentLog, clock, lastKnown });
    await cached.close();
    await clock.advanceSettled(10_000);
    expect(clock.pendingCount).toBe(0);
  });

  it('hears of a change that was made while its first read was on the way', async () => {
    const memory = new MemoryFleetMap(twoCells('a'));
    const ask = { namespaceId: 'id-of-a', cell: 'west', epoch: 1 };
    const store: FleetMapStore = {
      read: async (signal) => {
        const read = await memory.read(signal);
        await updateMap(memory, (map) => activate(map, ask), signal);
        return read;
      },
      compareAndSet: (revision, next, signal) => memory.compareAndSet(revision, next, signal),
      watch: (listener) => memory.watch(listener),
    };
    const cached = await CachedFleetMap.open({ store, log: silentLog, clock: new VirtualClock() });
    await Promise.resolve();
    expect(cached.namespaceByName('a')?.placement.active).toBe('west');
  });

  it('refuses a store that went back, at the start and later', async () => {
    const moved = must(activate(twoCells('a'), { namespaceId: 'id-of-a', cell: 'west', epoch: 1 }));
    const lastKnown = memoryLastKnown(moved);
    const cached = await CachedFleetMap.open({
      store: new MemoryFleetMap(twoCells('a')),
      log: silentLog,
      clock: new VirtualClock(),
      lastKnown,
    });
    expect(cached.namespaceByName('a')?.placement).toMatchObject({ active: 'west', epoch: 2 });
    await cached.refresh();
    expect(cached.map).toEqual(moved);
  });

  it('asks the store twice for any number of refreshes at once, the second time after the first', async () => {
    const store = new MemoryFleetMap(twoCells('a'));
    let reads = 0;
    const counting: FleetMapStore = {
      read: (signal) => {
        reads += 1;
        return store.read(signal);
      },
      compareAndSet: (revision, next, signal) => store.compareAndSet(revision, next, signal),
      watch: () => () => {},
    };
    const cached = await CachedFleetMap.open({
      store: counting,
      log: silentLog,
      clock: new VirtualClock(),
    });
    await Promise.all(Array.from({ length: 100 }, () => cached.refresh()));
    expect(reads).toBe(1 + 2);
    await cached.refresh();
    expect(reads).toBe(1 + 3);
  });

  it('gives up a change after 64 lost races and says so', async () => {
    const store = new MemoryFleetMap(twoCells('a'));
    const losing: FleetMapStore = {
      read: (signal) => store.read(signal),
      compareAndSet: async () => ({ kind: 'conflict', current: twoCells('a') }),
      watch: () => () => {},
    };
    const cached = await CachedFleetMap.open({
      store: losing,
      log: silentLog,
      clock: new VirtualClock(),
    });
    await expect(
      cached.update((map) => registerNamespace(map, registration('b')), soon()),
    ).rejects.toMatchObject({
      code: 'aborted',
      message: expect.stringContaining('64 times'),
    });
  });
});

/** Announces nothing. */
function deaf(store: FleetMapStore): FleetMapStore {
  return {
    read: (signal) => store.read(signal),
    compareAndSet: (revision, next, signal) => store.compareAndSet(revision, next, signal),
    watch: () => () => {},
  };
}

function memoryLastKnown(map?: FleetMap): LastKnownMap {
  let saved = map;
  return {
    load: async () => saved,
    save: async (next) => {
      saved = next;
    },
  };
}

function soon(): AbortSignal {
  return AbortSignal.timeout(10_000);
}
