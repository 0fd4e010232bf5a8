/**
 * What every FleetMapStore must do, as tests that any adapter runs (D12): exactly one winner, durable, watched,
 * never back.
 */
import { describe, expect, it } from 'vitest';
import type { FleetMapStore } from '../fleet-map.ts';
import type { FleetMap } from '../map.ts';
import { activate, registerNamespace } from '../table.ts';
import { updateMap } from '../update.ts';
import { must, registration, twoCells } from './sample.ts';

const RACERS = 20;

/** Runs the suite; `openStore` returns a fresh, empty store for each case. */
export function fleetMapConformance(name: string, openStore: () => Promise<FleetMapStore>): void {
  describe(`${name} keeps the port's promises`, () => {
    it('is empty at revision 0 before the first change', async () => {
      const store = await openStore();
      const map = await store.read(soon());
      expect(map).toMatchObject({ revision: 0, cells: {}, namespaces: {} });
    });

    it('lets exactly one of 20 racers win and tells the others what is there', async () => {
      const store = await startedStore(openStore);
      const map = await store.read(soon());
      const outcomes = await Promise.all(
        Array.from({ length: RACERS }, (_, i) =>
          store.compareAndSet(
            map.revision,
            must(registerNamespace(map, registration(`n${i}`))),
            soon(),
          ),
        ),
      );
      const winner = outcomes.findIndex((outcome) => outcome.kind === 'set');
      expect(outcomes.filter((outcome) => outcome.kind === 'set')).toHaveLength(1);
      const stored = await store.read(soon());
      expect(Object.values(stored.namespaces).map((one) => one.name)).toEqual([`n${winner}`]);
      for (const outcome of outcomes)
        if (outcome.kind === 'conflict') expect(outcome.current).toEqual(stored);
    });

    it('keeps the change of every one of 20 updaters that retry', async () => {
      const store = await startedStore(openStore);
      await Promise.all(
        Array.from({ length: RACERS }, (_, i) =>
          updateMap(store, (map) => registerNamespace(map, registration(`n${i}`)), soon()),
        ),
      );
      const map = await store.read(soon());
      expect(Object.keys(map.namespaces)).toHaveLength(RACERS);
      expect(map.revision).toBe(twoCells().revision + RACERS);
    });

    it('refuses a change that was decided on an older revision', async () => {
      const store = await startedStore(openStore);
      const old = await store.read(soon());
      await updateMap(store, (map) => registerNamespace(map, registration('first')), soon());
      const late = await store.compareAndSet(
        old.revision,
        must(registerNamespace(old, registration('late'))),
        soon(),
      );
      expect(late.kind).toBe('conflict');
    });

    it('refuses to store a map that skips a revision, drops a namespace or lowers an epoch', async () => {
      const store = await startedStore(openStore);
      await updateMap(store, (map) => registerNamespace(map, registration('kept')), soon());
      const asked = { namespaceId: 'id-of-kept', cell: 'west', epoch: 1 };
      const map = await updateMap(store, (current) => activate(current, asked), soon());
      const revision = map.revision + 1;
      const lowered: FleetMap = { ...twoCells('kept'), revision };
      for (const bad of [
        { ...map, revision: revision + 1 },
        { ...map, revision, namespaces: {} },
        lowered,
      ]) {
        await expect(store.compareAndSet(map.revision, bad, soon())).rejects.toThrow(/fleet map:/);
      }
      expect(await store.read(soon())).toEqual(map);
    });

    it('shows the last change to a listener and nothing after it unsubscribed', async () => {
      const store = await startedStore(openStore);
      const seen: number[] = [];
      let wake = () => {};
      const unsubscribe = store.watch((map) => {
        seen.push(map.revision);
        wake();
      });
      let last = 0;
      for (const name of ['a', 'b', 'c']) {
        last = (await updateMap(store, (map) => registerNamespace(map, registration(name)), soon()))
          .revision;
      }
      while (seen.at(-1) !== last) await new Promise<void>((resolve) => (wake = resolve));
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
      unsubscribe();
      const told = seen.length;
      await updateMap(store, (map) => registerNamespace(map, registration('d')), soon());
      await store.read(soon());
      expect(seen).toHaveLength(told);
    });

    it('does nothing for a caller whose signal has aborted', async () => {
      const store = await startedStore(openStore);
      const map = await store.read(soon());
      const next = must(registerNamespace(map, registration('never')));
      await expect(store.compareAndSet(map.revision, next, AbortSignal.abort())).rejects.toThrow();
      expect(await store.read(soon())).toEqual(map);
    });
  });
}

async function startedStore(openStore: () => Promise<FleetMapStore>): Promise<FleetMapStore> {
  const store = await openStore();
  const start = twoCells();
  let map = await store.read(soon());
  while (map.revision < start.revision) {
    const next = { ...start, revision: map.revision + 1 };
    await store.compareAndSet(map.revision, next, soon());
    map = next;
  }
  return store;
}

function soon(): AbortSignal {
  return AbortSignal.timeout(10_000);
}
