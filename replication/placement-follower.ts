/**
 * Tells the shards of a cell when the map places a replicated namespace otherwise: they open, stand by or become active by
 * it (PROTOCOLS 8.4, 8.5), without waiting for the first call.
 *
 * Invariants
 *  1. A placement is told until the shards have acted on it, or a newer one came; longer waits lie between, and a newer one
 *     ends them.
 *  2. One telling a namespace at a time.
 *  3. A reason for which shards do not take placements is logged once, however many namespaces and times it is met.
 */
import { setMaxListeners } from 'node:events';
import type { Replicas } from '../cell/shard/replicas/replicas.ts';
import type { FleetMap, Namespace } from '../fleet/map.ts';
import { sleep, type Clock } from '../kernel/clock.ts';
import { withDeadline } from '../kernel/deadline.ts';
import { toAtollError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { backOffMs, type BackOff } from '../kernel/retry.ts';
import type { Rng } from '../kernel/rng.ts';
import type { FollowedMap } from './followed-map.ts';

const TELL_MS = 10_000;
/** Given up only for a newer placement, or with the process. */
const AGAIN: BackOff = {
  name: 'placement-tell',
  initialMs: 500,
  maxMs: 5_000,
  maxAttempts: Number.MAX_SAFE_INTEGER,
};

export type PlacementFollowerParts = {
  readonly cellId: string;
  readonly map: FollowedMap;
  readonly replicas: Pick<Replicas, 'observe'>;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Log;
};

/** `standing`: what is being told, as `standingOf` has it; `wait` is aborted when there is something newer to tell. */
type Telling = { standing: string; wait: AbortController };

export class PlacementFollower {
  readonly #parts: PlacementFollowerParts;
  /** By namespace, as `standingOf` has it. */
  readonly #told = new Map<string, string>();
  readonly #telling = new Map<string, Telling>();
  readonly #refusals: Refusals;
  readonly #closing = new AbortController();
  readonly #unfollow: () => void;

  constructor(parts: PlacementFollowerParts) {
    // One listener a namespace that is being told.
    setMaxListeners(0, this.#closing.signal);
    this.#parts = parts;
    this.#refusals = new Refusals(parts.log);
    this.#unfollow = parts.map.onChange((map) => this.#look(map));
    this.#look(parts.map.map);
  }

  close(): void {
    this.#unfollow();
    this.#closing.abort();
    for (const { wait } of this.#telling.values()) wait.abort();
  }

  #look(map: FleetMap): void {
    for (const [id, telling] of this.#telling) {
      const namespace = map.namespaces[id];
      if (!namespace || standingOf(namespace) !== telling.standing) telling.wait.abort();
    }
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
    const { map, replicas, clock, rng } = this.#parts;
    const { signal } = this.#closing;
    const telling: Telling = { standing: '', wait: new AbortController() };
    let failures = 0;
    this.#telling.set(namespaceId, telling);
    for (;;) {
      const namespace = map.namespaceById(namespaceId);
      const standing = namespace && standingOf(namespace);
      if (!standing || signal.aborted || this.#told.get(namespaceId) === standing) break;
      if (telling.standing !== standing) failures = 0;
      telling.standing = standing;
      telling.wait = new AbortController();
      // Some shards may act on this one, even if it is not told to all.
      this.#told.delete(namespaceId);
      try {
        const options = { what: 'telling the shards', timeoutMs: TELL_MS, parent: signal };
        await withDeadline(clock, options, (each) => replicas.observe(namespaceId, each));
        this.#told.set(namespaceId, standing);
      } catch (error) {
        if (signal.aborted) break;
        failures += 1;
        this.#refusals.refused(namespaceId, toAtollError(error).message);
        await sleep(clock, backOffMs(AGAIN, failures, rng), telling.wait.signal).catch(() => {});
      }
    }
    this.#telling.delete(namespaceId);
    this.#refusals.over(namespaceId);
  }
}

/** Why shards do not take placements, told once for all namespaces that meet it. */
class Refusals {
  readonly #log: Log;
  readonly #reasons = new Map<string, string>();
  /** Namespaces that meet each. */
  readonly #counts = new Map<string, number>();

  constructor(log: Log) {
    this.#log = log;
  }

  refused(namespaceId: string, reason: string): void {
    const before = this.#reasons.get(namespaceId);
    if (before === reason) return;
    const count = (this.#counts.get(reason) ?? 0) + 1;
    this.#reasons.set(namespaceId, reason);
    this.#counts.set(reason, count);
    if (before !== undefined) this.#drop(before);
    const fields = { namespaceId, error: reason };
    const level = count === 1 ? 'warn' : 'debug';
    this.#log[level](fields, 'The shards have not taken a placement yet; telling again.');
  }

  /** The namespace is told of no more. */
  over(namespaceId: string): void {
    const reason = this.#reasons.get(namespaceId);
    if (reason === undefined) return;
    this.#reasons.delete(namespaceId);
    this.#drop(reason);
  }

  #drop(reason: string): void {
    const left = (this.#counts.get(reason) ?? 1) - 1;
    if (left > 0) this.#counts.set(reason, left);
    else this.#counts.delete(reason);
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
