/**
 * The port to where the fleet map is kept (D8, D12): etcd for a fleet, a directory for one machine, memory in tests.
 * Three methods; one conformance suite (conformance/) for every adapter.
 *
 * The port promises
 *  1. Of any number of `compareAndSet` calls with the same expected revision, in any processes, at most one is `set`.
 *  2. `set` means durable: a later `read`, also after a crash, returns that map or a newer one.
 *  3. A listener sees the last map in the end; it may miss maps in between.
 *  4. A map that cannot be read (`data-loss`) is never overwritten.
 */
import type { FleetMap } from './map.ts';

export type SetOutcome =
  | { readonly kind: 'set' }
  /** Somebody else was faster; `current` is what is there now. */
  | { readonly kind: 'conflict'; readonly current: FleetMap };

export type Unsubscribe = () => void;

export interface FleetMapStore {
  /** The map as it is now; the empty map before the first change. Rejects with `unavailable` or `data-loss`. */
  read(signal: AbortSignal): Promise<FleetMap>;
  /** Stores `next`, whose revision is `expectedRevision + 1`, if the stored revision is the expected one. */
  compareAndSet(expectedRevision: number, next: FleetMap, signal: AbortSignal): Promise<SetOutcome>;
  /**
   * Calls the listener with each map that is set from now on, as far as it is seen, and perhaps with the one that is there.
   * Goes on by itself after the store was away.
   */
  watch(listener: (map: FleetMap) => void): Unsubscribe;
}
