/**
 * Tells the shards of a cell when the map places a replicated namespace otherwise: they open, stand by or become active by
 * it (PROTOCOLS 8.4, 8.5), without waiting for the first call.
 *
 * Invariants
 *  1. A placement is told until the shards have acted on it, or a newer one came.
 *  2. One telling a namespace at a time.
 */
import type { Replicas } from '../cell/shard/replicas.ts';
import type { FleetMap, Placement } from '../fleet/map.ts';
import { sleep, type Clock } from '../kernel/clock.ts';
import { withDeadline } from '../kernel/deadline.ts';
import { toAtollError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { FollowedMap } from './followed-map.ts';

const TELL_MS = 10_000;
const AGAIN_MS = 500;

export type PlacementFollowerParts = {
  readonly cellId: string;
  readonly map: FollowedMap;
  readonly replicas: Pick<Replicas, 'observe'>;
  readonly clock: Clock;
  readonly log: Log;
};

export class PlacementFollower {
  readonly #parts: PlacementFollowerParts;
  readonly #told = new Map<string, Placement>();
  readonly #telling = new Set<string>();
  readonly #closing = new AbortController();
  readonly #unfollow: () => void;

  constructor(parts: PlacementFollowerParts) {
    this.#parts = parts;
    this.#unfollow = parts.map.onChange((map) => this.#look(map));
    this.#look(parts.map.map);
  }

  close(): void {
    this.#unfollow();
    this.#closing.abort();
  }

  #look(map: FleetMap): void {
    for (const [id, { placement }] of Object.entries(map.namespaces)) {
      const { replicas } = placement;
      if (!replicas.includes(this.#parts.cellId)) continue;
      if (replicas.length < 2 && placement.epoch === 1) continue;
      if (!this.#telling.has(id) && !same(this.#told.get(id), placement)) void this.#tell(id);
    }
  }

  async #tell(namespaceId: string): Promise<void> {
    const { map, replicas, clock, log } = this.#parts;
    const { signal } = this.#closing;
    this.#telling.add(namespaceId);
    for (;;) {
      const placement = map.namespaceById(namespaceId)?.placement;
      if (!placement || signal.aborted || same(this.#told.get(namespaceId), placement)) break;
      try {
        const options = { what: 'telling the shards', timeoutMs: TELL_MS, parent: signal };
        await withDeadline(clock, options, (each) => replicas.observe(namespaceId, each));
        this.#told.set(namespaceId, placement);
      } catch (error) {
        if (signal.aborted) break;
        const fields = { namespaceId, error: toAtollError(error).message };
        log.warn(fields, 'The shards have not taken a placement yet; telling again.');
        await sleep(clock, AGAIN_MS, signal).catch(() => {});
      }
    }
    this.#telling.delete(namespaceId);
  }
}

function same(a: Placement | undefined, b: Placement): boolean {
  return (
    a !== undefined &&
    a.active === b.active &&
    a.epoch === b.epoch &&
    a.state.kind === b.state.kind &&
    a.replicas.length === b.replicas.length
  );
}
