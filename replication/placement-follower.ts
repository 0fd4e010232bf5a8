/**
 * Tells the shards of a cell when the map places a replicated namespace otherwise: they open, stand by or become active by
 * it (PROTOCOLS 8.4, 8.5), without waiting for the first call.
 *
 * Invariants
 *  1. A placement is told until the shards have acted on it, or a newer one came.
 *  2. One telling a namespace at a time.
 */
import type { Replicas } from '../cell/shard/replicas/replicas.ts';
import type { FleetMap, Namespace } from '../fleet/map.ts';
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
  /** By namespace, as `standingOf` has it. */
  readonly #told = new Map<string, string>();
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
    for (const [id, namespace] of Object.entries(map.namespaces)) {
      const { replicas, epoch } = namespace.placement;
      if (!replicas.includes(this.#parts.cellId)) continue;
      // Never closed. One whose move was given up has a single replica again, and may be closed.
      if (replicas.length < 2 && epoch === 1 && !namespace.moves?.length) continue;
      if (this.#telling.has(id) || this.#told.get(id) === standingOf(namespace)) continue;
      void this.#tell(id);
    }
  }

  async #tell(namespaceId: string): Promise<void> {
    const { map, replicas, clock, log } = this.#parts;
    const { signal } = this.#closing;
    this.#telling.add(namespaceId);
    for (;;) {
      const namespace = map.namespaceById(namespaceId);
      const standing = namespace && standingOf(namespace);
      if (!standing || signal.aborted || this.#told.get(namespaceId) === standing) break;
      // Some shards may act on this one, even if it is not told to all.
      this.#told.delete(namespaceId);
      try {
        const options = { what: 'telling the shards', timeoutMs: TELL_MS, parent: signal };
        await withDeadline(clock, options, (each) => replicas.observe(namespaceId, each));
        this.#told.set(namespaceId, standing);
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

/**
 * What shards act on. How the newest move ended is part of it: a shard may be closed by a handover that this cell's map never
 * showed, because the cell was down then, and the placement is as before.
 */
function standingOf({ placement, moves }: Namespace): string {
  const { active, epoch, state, replicas } = placement;
  const newest = moves?.at(-1);
  return [active, epoch, state.kind, replicas.length, newest?.id, newest?.outcome].join(' ');
}
