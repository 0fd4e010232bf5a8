/**
 * One host of a simulated cell: shards, matching and frontend as `atoll cell` composes them, on a store of its own
 * over the shared database, everything behind its gate.
 */
import type { Admission } from '../../cell/frontend/admission.ts';
import type { Frontend } from '../../cell/frontend/frontend.ts';
import type { ShardConfig } from '../../cell/shard/config.ts';
import type { ShardHost } from '../../cell/shard/shard-host.ts';
import type { Stop } from '../../cell/shard/shard-owner.ts';
import type { MemoryStore } from '../../cell/storage/memory/memory-store.ts';
import type { StoreFaults } from '../../cell/storage/memory/store-faults.ts';
import type { ShardId } from '../../cell/storage/shard-log.ts';
import type { Visibility } from '../../cell/visibility/visibility.ts';
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import type { Faults } from './faults.ts';
import { HeldTakeover } from './held-takeover.ts';
import { HostGate } from './host-gate.ts';
import { openStore, serveShards } from './served-shards.ts';
import type { Trace } from './trace.ts';
import { UnheardAppend } from './unheard-append.ts';
import type { WatchedDatabase } from './watched-database.ts';
import type { WorldTime } from './world-time.ts';

export const NAMESPACE = 'shop';
export const NAMESPACE_ID = '10000000-0000-4000-8000-000000000001';
const EPOCH = 1;

/** What all hosts of a world share. */
export type CellWorld = {
  readonly time: WorldTime;
  readonly database: WatchedDatabase;
  readonly visibility: Visibility;
  readonly faults: Faults;
  readonly trace: Trace;
  readonly shardCount: number;
  readonly config: ShardConfig;
};

export type Host = {
  readonly name: string;
  readonly gate: HostGate;
  readonly store: MemoryStore;
  readonly shards: readonly ShardId[];
  readonly stopped: Map<ShardId, Stop>;
  readonly shardHost: ShardHost;
  readonly frontend: Frontend;
};

const admission: Admission = {
  admit: () => Promise.resolve({ namespace: NAMESPACE, namespaceId: NAMESPACE_ID, epoch: EPOCH }),
  find: () => undefined,
};

export type HostOptions = {
  readonly name: string;
  readonly shards: readonly ShardId[];
  readonly wallOffsetMs: number;
  readonly rng: SeededRng;
  readonly onShardStopped: (host: Host, shard: ShardId, stop: Stop) => void;
  /** A takeover or an append of this host is held up: now another host may come in between. */
  readonly onHeldUp: (shard: ShardId) => void;
};

/** Makes a host and lets it take over its shards. */
export function startHost(world: CellWorld, options: HostOptions): Host {
  const { time, database, trace } = world;
  const { name, shards, rng } = options;
  const gate = new HostGate(time, options.wallOffsetMs);
  const store = openStore(database, { time, rng, faults: storeFaults(world, options) });
  const served = serveShards({
    gate,
    rng,
    store,
    visibility: world.visibility,
    admission,
    logger: trace.log(name),
    config: world.config,
    shardCount: world.shardCount,
    shards,
    epochOf: () => EPOCH,
    onShardStopped: (shard, stop) => {
      host.stopped.set(shard, stop);
      options.onShardStopped(host, shard, stop);
    },
  });
  const host: Host = { name, gate, store, shards, stopped: new Map(), ...served };
  void host.shardHost.open();
  return host;
}

/** What befalls the statements of one host. */
function storeFaults(
  { faults, time, config }: CellWorld,
  { rng, onHeldUp }: HostOptions,
): StoreFaults {
  const held = new HeldTakeover({
    faults,
    time,
    rng: rng.fork('held takeovers'),
    deadlineMs: config.statementDeadlineMs,
    onHeld: onHeldUp,
  });
  const unheard = rng.fork('unheard appends');
  return new UnheardAppend({ inner: held, faults, rng: unheard, onUnheard: onHeldUp });
}

/** SIGKILL: nothing of it runs any more; its statements under way still land. */
export function killHost(host: Host): void {
  host.gate.die();
  host.store.breakConnection();
}
