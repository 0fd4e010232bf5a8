/**
 * A follower of the fleet map: what routers and cells ask on every call (D8, P12).
 *
 * Place: between the store (FleetMapStore) and everything that routes or admits. Answers come from memory; the store
 * is asked at the start, on a notice, and on demand when a call shows that somebody knows a newer map.
 *
 * Invariants
 *  1. The map never goes back: revision and every epoch only grow here, whatever the store says.
 *  2. With the store away the last accepted map goes on counting, also over a restart if a LastKnownMap is given.
 *  3. At most one read of the store is running and one waiting, however many callers ask (P11).
 *  4. No change is missed: it listens before it reads, and what changed before it listened it asks for until the store
 *     has answered.
 */
import { sleep, type Clock } from '../kernel/clock.ts';
import { withDeadline } from '../kernel/deadline.ts';
import { toAtollError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { FleetMapStore, Unsubscribe } from './fleet-map.ts';
import type { LastKnownMap } from './last-known-map.ts';
import { EMPTY_FLEET_MAP, type Cell, type FleetMap, type Namespace } from './map.ts';
import { goesBack, type Change } from './table.ts';
import { updateMap } from './update.ts';

/** A store that has not answered by then is away. */
const READ_DEADLINE_MS = 5_000;
/** Between reads of a store that was away at the start. */
const ASK_AGAIN_MS = 1_000;

export type CachedFleetMapParts = {
  readonly store: FleetMapStore;
  readonly log: Log;
  readonly clock: Clock;
  /** Where to keep the last accepted map; without it a start needs the store. */
  readonly lastKnown?: LastKnownMap;
};

export class CachedFleetMap {
  readonly #parts: CachedFleetMapParts;
  readonly #listeners = new Set<(map: FleetMap) => void>();
  #map: FleetMap;
  #byName: ReadonlyMap<string, Namespace>;
  #unwatch: Unsubscribe = () => {};
  readonly #closing = new AbortController();
  /** Whether the store has told what there is since this follower listens. */
  #heard = false;
  #running: Promise<void> | undefined;
  #waiting: Promise<void> | undefined;
  #saving: Promise<void> | undefined;

  private constructor(parts: CachedFleetMapParts, map: FleetMap) {
    this.#parts = parts;
    this.#map = map;
    this.#byName = indexByName(map);
  }

  /**
   * Starts from the store's map or, if that is away or behind, from the last known one.
   * @throws AtollError `unavailable` if there is neither
   */
  static async open(parts: CachedFleetMapParts): Promise<CachedFleetMap> {
    const known = await loadLastKnown(parts);
    const cached = new CachedFleetMap(parts, known ?? EMPTY_FLEET_MAP);
    cached.#unwatch = parts.store.watch((map) => cached.#hear(map));
    try {
      cached.#hear(await readInTime(parts));
      cached.#save();
    } catch (thrown) {
      const error = toAtollError(thrown);
      if (known === undefined) {
        await cached.close();
        throw error;
      }
      parts.log.warn(
        { error: error.message, revision: known.revision },
        'Starting from the last known fleet map.',
      );
      void cached.#askUntilHeard();
    }
    return cached;
  }

  /** The newest accepted map. */
  get map(): FleetMap {
    return this.#map;
  }

  /** The namespace of that name, unless deleted: one look-up, for the call path. */
  namespaceByName(name: string): Namespace | undefined {
    return this.#byName.get(name);
  }

  namespaceById(id: string): Namespace | undefined {
    return Object.hasOwn(this.#map.namespaces, id) ? this.#map.namespaces[id] : undefined;
  }

  cell(id: string): Cell | undefined {
    return Object.hasOwn(this.#map.cells, id) ? this.#map.cells[id] : undefined;
  }

  /** Calls the listener after each accepted newer map. */
  onChange(listener: (map: FleetMap) => void): Unsubscribe {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Asks the store, by a read that begins after this call. A store that is away is logged: the known map counts on. */
  refresh(): Promise<void> {
    if (this.#running === undefined) return this.#startRead();
    this.#waiting ??= this.#running.then(() => {
      this.#waiting = undefined;
      return this.#startRead();
    });
    return this.#waiting;
  }

  /** Makes a change durable (update.ts) and accepts its result. Rejects as `updateMap` does. */
  async update(change: (map: FleetMap) => Change, signal: AbortSignal): Promise<FleetMap> {
    const map = await updateMap(this.#parts.store, change, signal);
    this.#accept(map);
    return map;
  }

  /** Stops following and waits until the last map is saved. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#unwatch();
    this.#listeners.clear();
    await this.#running;
    await this.#saving;
  }

  #startRead(): Promise<void> {
    this.#running = this.#read().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #read(): Promise<void> {
    try {
      this.#hear(await readInTime(this.#parts));
    } catch (thrown) {
      const error = toAtollError(thrown).message;
      this.#parts.log.warn(
        { error, revision: this.#map.revision },
        'The fleet map store is away: the last known map counts.',
      );
    }
  }

  async #askUntilHeard(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      await sleep(this.#parts.clock, ASK_AGAIN_MS, signal).catch(() => {});
      if (this.#heard || signal.aborted) return;
      await this.refresh();
    }
  }

  #hear(map: FleetMap): void {
    this.#heard = true;
    this.#accept(map);
  }

  #accept(map: FleetMap): void {
    const why = goesBack(this.#map, map);
    if (why !== undefined) {
      // An older revision alone is a late notice; anything else is a store that lost changes.
      const level = map.revision < this.#map.revision ? 'debug' : 'error';
      this.#parts.log[level]({ why }, 'A fleet map that goes back was refused.');
      return;
    }
    if (map.revision === this.#map.revision) return;
    this.#map = map;
    this.#byName = indexByName(map);
    this.#save();
    for (const listener of this.#listeners) listener(map);
  }

  /** Saves the newest map; while one save runs, the newest of those that came meanwhile follows it. */
  #save(): void {
    const lastKnown = this.#parts.lastKnown;
    if (lastKnown === undefined || this.#saving !== undefined) return;
    this.#saving = this.#saveUntilNewest(lastKnown).finally(() => {
      this.#saving = undefined;
    });
  }

  async #saveUntilNewest(lastKnown: LastKnownMap): Promise<void> {
    let saved: FleetMap | undefined;
    while (saved !== this.#map) {
      saved = this.#map;
      try {
        await lastKnown.save(saved);
      } catch (thrown) {
        this.#parts.log.warn(
          { error: toAtollError(thrown).message },
          'The last known fleet map could not be saved.',
        );
      }
    }
  }
}

function readInTime({ store, clock }: CachedFleetMapParts): Promise<FleetMap> {
  const what = 'reading the fleet map';
  return withDeadline(clock, { what, timeoutMs: READ_DEADLINE_MS }, (signal) => store.read(signal));
}

async function loadLastKnown(parts: CachedFleetMapParts): Promise<FleetMap | undefined> {
  try {
    return await parts.lastKnown?.load();
  } catch (thrown) {
    parts.log.warn(
      { error: toAtollError(thrown).message },
      'The last known fleet map could not be read.',
    );
    return undefined;
  }
}

function indexByName(map: FleetMap): ReadonlyMap<string, Namespace> {
  const byName = new Map<string, Namespace>();
  for (const namespace of Object.values(map.namespaces)) {
    if (namespace.state !== 'deleted') byName.set(namespace.name, namespace);
  }
  return byName;
}
