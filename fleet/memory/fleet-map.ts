/**
 * The fleet map in memory, for tests, the simulator and a throwaway server. It can be told to be away, so that
 * followers can be shown to go on without it (P12).
 */
import { AtollError } from '../../kernel/errors.ts';
import type { FleetMapStore, SetOutcome, Unsubscribe } from '../fleet-map.ts';
import { EMPTY_FLEET_MAP, type FleetMap } from '../map.ts';
import { assertSuccessor } from '../successor.ts';

export class MemoryFleetMap implements FleetMapStore {
  #map: FleetMap;
  #away = false;
  readonly #listeners = new Set<(map: FleetMap) => void>();

  constructor(initial: FleetMap = EMPTY_FLEET_MAP) {
    this.#map = initial;
  }

  /** From now on every call is refused and no change is announced, until `away` is false again. */
  setAway(away: boolean): void {
    this.#away = away;
    if (!away) this.#announce();
  }

  async read(signal: AbortSignal): Promise<FleetMap> {
    this.#mustBeHere(signal);
    return this.#map;
  }

  async compareAndSet(
    expectedRevision: number,
    next: FleetMap,
    signal: AbortSignal,
  ): Promise<SetOutcome> {
    this.#mustBeHere(signal);
    if (this.#map.revision !== expectedRevision) return { kind: 'conflict', current: this.#map };
    assertSuccessor(this.#map, next);
    this.#map = next;
    this.#announce();
    return { kind: 'set' };
  }

  watch(listener: (map: FleetMap) => void): Unsubscribe {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #announce(): void {
    const map = this.#map;
    for (const listener of this.#listeners) queueMicrotask(() => this.#tell(listener, map));
  }

  #tell(listener: (map: FleetMap) => void, map: FleetMap): void {
    if (!this.#away && this.#listeners.has(listener)) listener(map);
  }

  #mustBeHere(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#away) throw new AtollError('unavailable', 'The fleet map store is away.');
  }
}
