/**
 * One host of a simulated cell: shards, matching and frontend as `atoll cell` composes them, on a store of its own
 * over the shared database, everything behind its gate.
 */
import type { Admission } from '../../cell/frontend/admission.ts';
import { allowAll } from '../../cell/frontend/authorise.ts';
import { defaultFrontendConfig } from '../../cell/frontend/config.ts';
import { Frontend } from '../../cell/frontend/frontend.ts';
import { InMemoryMatching } from '../../cell/matching/in-memory-matching.ts';
import type { ShardConfig } from '../../cell/shard/config.ts';
import { ShardHost } from '../../cell/shard/shard-host.ts';
import type { Stop } from '../../cell/shard/shard-owner.ts';
import { MemoryStore } from '../../cell/storage/memory/memory-store.ts';
import type { StoreFaults } from '../../cell/storage/memory/store-faults.ts';
import type { ShardId } from '../../cell/storage/shard-log.ts';
import type { Visibility } from '../../cell/visibility/visibility.ts';
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { TokenKeyRing } from '../../wire/signed-token.ts';
import type { Faults } from './faults.ts';
import { HeldTakeover } from './held-takeover.ts';
import { HostGate, throughGate } from './host-gate.ts';
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

const tokens = new TokenKeyRing({
  keys: [{ id: 1, secret: new Uint8Array(32).fill(7) }],
  current: 1,
});

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
  const claims = rng.fork('claims');
  const store = new MemoryStore(database, {
    clock: time,
    claimStep: () => claims.integer(1, 1_000_000),
    rng: rng.fork('store'),
    faults: storeFaults(world, options),
    latencyMs: { from: 0.3, to: 3 },
  });
  const logger = trace.log(name);
  const matching = new InMemoryMatching({ clock: gate });
  const index = throughGate(gate, world.visibility);
  const shardHost = new ShardHost({
    log: throughGate(gate, store),
    views: throughGate(gate, store.views),
    index,
    matching,
    clock: gate,
    rng: rng.fork('shards'),
    logger,
    config: world.config,
    shardCount: world.shardCount,
    shards,
    epochOf: () => EPOCH,
    onShardStopped: (shard, stop) => {
      host.stopped.set(shard, stop);
      options.onShardStopped(host, shard, stop);
    },
  });
  const frontend = new Frontend({
    engine: shardHost,
    matching,
    visibility: index,
    admission,
    authoriser: allowAll,
    tokens,
    clock: gate,
    rng: rng.fork('frontend'),
    log: logger,
    config: defaultFrontendConfig,
  });
  const host: Host = { name, gate, store, shards, stopped: new Map(), shardHost, frontend };
  void shardHost.open();
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
