/**
 * The hosts of a world and who is told to own what: a membership that may be wrong.
 *
 * Invariants
 *  1. A shard that nobody awake serves gets a new host within a second or two.
 *  2. Hosts that lost their shards, sleep, or were declared dead may still believe that they own them.
 */
import type { Stop } from '../../cell/shard/shard-owner.ts';
import type { ShardId } from '../../cell/storage/shard-log.ts';
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { killHost, startHost, type CellWorld, type Host } from './host.ts';

/** More at once are started only for shards that nobody serves. */
export const MOST_HOSTS = 4;

const LOOK_EVERY_MS = 500;
const RIVAL_WITHIN_MS = 20;
const MOST_SKEW_MS = 2_000;

export class Cluster {
  readonly #world: CellWorld;
  readonly #rng: SeededRng;
  readonly #onStart: (host: Host) => void;
  readonly #onStop: (host: Host, shard: ShardId, stop: Stop) => void;
  #hosts: Host[] = [];
  #started = 0;

  constructor(options: {
    readonly world: CellWorld;
    readonly rng: SeededRng;
    readonly onStart: (host: Host) => void;
    readonly onStop: (host: Host, shard: ShardId, stop: Stop) => void;
  }) {
    this.#world = options.world;
    this.#rng = options.rng;
    this.#onStart = options.onStart;
    this.#onStop = options.onStop;
  }

  /** Hosts that are not dead. */
  get hosts(): readonly Host[] {
    return this.#hosts;
  }

  /** Starts the first host, and looks after the shards from then on. */
  open(): void {
    this.start(this.allShards);
    const look = () => {
      this.#adoptOrphans();
      this.#world.time.after(LOOK_EVERY_MS, look);
    };
    this.#world.time.after(LOOK_EVERY_MS, look);
  }

  get allShards(): readonly ShardId[] {
    return Array.from({ length: this.#world.shardCount }, (_, shard) => shard as ShardId);
  }

  start(shards: readonly ShardId[]): Host {
    this.#started += 1;
    const name = `host-${this.#started}`;
    const skewed = this.#world.faults.active && this.#rng.chance(0.5);
    const wallOffsetMs = skewed ? this.#rng.integer(-MOST_SKEW_MS, MOST_SKEW_MS) : 0;
    this.#world.trace.note(`${name} starts with shards ${shards.join(' ')}`);
    const host = startHost(this.#world, {
      name,
      shards,
      wallOffsetMs,
      rng: this.#rng.fork(name),
      onShardStopped: this.#onStop,
      onHeldUp: (shard) => this.#startRival(shard),
    });
    this.#hosts = [...this.#hosts, host];
    this.#onStart(host);
    return host;
  }

  /** Another host is told to own the shard whose takeover or append is held up. */
  #startRival(shard: ShardId): void {
    this.#world.time.after(this.#rng.fraction() * RIVAL_WITHIN_MS, () => {
      if (this.#hosts.length < MOST_HOSTS) this.start([shard]);
    });
  }

  kill(host: Host): void {
    this.#world.trace.note(`${host.name} is killed`);
    this.#hosts = this.#hosts.filter((other) => other !== host);
    killHost(host);
  }

  /** A host that may serve the shard, mostly the newest; undefined when there is none. */
  route(shard: ShardId): Host | undefined {
    const serving = this.#hosts.filter((host) => host.shards.includes(shard));
    if (serving.length === 0) return undefined;
    return this.#rng.chance(0.7) ? serving.at(-1) : this.#rng.pick(serving);
  }

  #adoptOrphans(): void {
    for (const host of this.#hosts) if (host.stopped.size === host.shards.length) this.kill(host);
    const orphans = this.allShards.filter(
      (shard) =>
        !this.#hosts.some(
          ({ shards, stopped, gate }) =>
            shards.includes(shard) && !stopped.has(shard) && gate.state === 'awake',
        ),
    );
    if (orphans.length > 0) this.start(orphans);
  }
}
