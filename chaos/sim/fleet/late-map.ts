/**
 * The fleet map as one process reaches it: reads and compare-and-sets go over its own way and may be lost, late or doubled;
 * notices come late, and not at all while the way back is cut.
 *
 * Invariants
 *  1. A compare-and-set whose caller has given up still lands.
 *  2. Every watcher sees the last map in the end.
 */
import type { FleetMapStore, SetOutcome, Unsubscribe } from '../../../fleet/fleet-map.ts';
import type { FleetMap } from '../../../fleet/map.ts';
import type { MemoryFleetMap } from '../../../fleet/memory/fleet-map.ts';
import { sleep } from '../../../kernel/clock.ts';
import type { WorldTime } from '../world-time.ts';
import type { Links } from './links.ts';
import type { Place } from './place.ts';

export const MAP = 'map';

const TOLD_AGAIN_MS = 300;
const LANDS_ALWAYS = new AbortController().signal;

/** The store, and the process that it is in. */
export type MapPlace = Place & {
  readonly store: MemoryFleetMap;
  /** How much later than it arrived a change lands. */
  readonly landsLateMs: (next: FleetMap) => number;
};

export class LateMap implements FleetMapStore {
  readonly #who: Place;
  readonly #map: MapPlace;
  readonly #links: Links;
  readonly #time: WorldTime;

  constructor(who: Place, parts: { map: MapPlace; links: Links; time: WorldTime }) {
    this.#who = who;
    this.#map = parts.map;
    this.#links = parts.links;
    this.#time = parts.time;
  }

  read(): Promise<FleetMap> {
    return this.#ask((store) => store.read(LANDS_ALWAYS));
  }

  compareAndSet(expectedRevision: number, next: FleetMap): Promise<SetOutcome> {
    return this.#ask((store) => {
      const set = () => store.compareAndSet(expectedRevision, next, LANDS_ALWAYS);
      const lateMs = this.#map.landsLateMs(next);
      return lateMs > 0 ? sleep(this.#time, lateMs).then(set) : set();
    });
  }

  watch(listener: (map: FleetMap) => void): Unsubscribe {
    let over = false;
    const tell = (map: FleetMap) => {
      if (over) return;
      const cut = this.#links.isCut(MAP, this.#who.name);
      if (cut) this.#time.after(TOLD_AGAIN_MS, () => tell(map));
      else this.#who.gate.enter(() => listener(map));
    };
    const unwatch = this.#map.store.watch(
      (map) => void this.#time.after(this.#links.noticeMs(), () => tell(map)),
    );
    return () => {
      over = true;
      unwatch();
    };
  }

  #ask<Result>(call: (store: MemoryFleetMap) => Promise<Result>): Promise<Result> {
    const way = { from: this.#who, to: MAP, kind: 'map' } as const;
    return this.#links.carry(
      way,
      () => this.#map,
      ({ store }) => call(store),
    );
  }
}
