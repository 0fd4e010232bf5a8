/** The port to where a follower keeps the last map that it accepted, so that it starts without the store (D8, P12). */
import type { FleetMap } from './map.ts';

export interface LastKnownMap {
  /** The map saved last, or undefined if there is none. Rejects with `data-loss` if it cannot be read. */
  load(): Promise<FleetMap | undefined>;
  /** Replaces it, whole or not at all. */
  save(map: FleetMap): Promise<void>;
}
