/** What serves in a simulated process, composed as `atoll cell` does: shards, matching and frontend, behind its gate. */
import type { Admission } from '../../cell/frontend/admission.ts';
import { allowAll } from '../../cell/frontend/authorise.ts';
import { defaultFrontendConfig } from '../../cell/frontend/config.ts';
import { Frontend } from '../../cell/frontend/frontend.ts';
import type { ActivityStartedReply } from '../../cell/history/decision.ts';
import { InMemoryMatching } from '../../cell/matching/in-memory-matching.ts';
import { ShardHost, type ShardHostOptions } from '../../cell/shard/shard-host.ts';
import { MemoryStore } from '../../cell/storage/memory/memory-store.ts';
import type { StoreFaults } from '../../cell/storage/memory/store-faults.ts';
import type { Visibility } from '../../cell/visibility/visibility.ts';
import type { SeededRng } from '../../kernel/testing/seeded-rng.ts';
import { TokenKeyRing } from '../../wire/signed-token.ts';
import { throughGate, type HostGate } from './host-gate.ts';
import type { WatchedDatabase } from './watched-database.ts';
import type { WorldTime } from './world-time.ts';

const tokens = new TokenKeyRing({
  keys: [{ id: 1, secret: new Uint8Array(32).fill(7) }],
  current: 1,
});

/** A store of the process's own over a database that others may share. */
export function openStore(
  database: WatchedDatabase,
  parts: { readonly time: WorldTime; readonly rng: SeededRng; readonly faults: StoreFaults },
): MemoryStore {
  const { time, rng, faults } = parts;
  const claims = rng.fork('claims');
  return new MemoryStore(database, {
    clock: time,
    claimStep: () => claims.integer(1, 1_000_000),
    rng: rng.fork('store'),
    faults,
    latencyMs: { from: 0.3, to: 3 },
  });
}

export type ServedParts = Pick<
  ShardHostOptions,
  'logger' | 'config' | 'shardCount' | 'shards' | 'placementOf' | 'lanes'
> & {
  readonly gate: HostGate;
  readonly rng: SeededRng;
  readonly store: MemoryStore;
  readonly visibility: Visibility;
  readonly admission: Admission;
  readonly epochOf: ShardHostOptions['epochOf'];
  readonly onShardStopped: ShardHostOptions['onShardStopped'];
};

export function serveShards(parts: ServedParts): {
  readonly shardHost: ShardHost;
  readonly frontend: Frontend;
} {
  const { gate, rng, store, visibility, admission, ...shards } = parts;
  const matching = new InMemoryMatching<ActivityStartedReply>({ clock: gate });
  const index = throughGate(gate, visibility);
  const shardHost = new ShardHost({
    ...shards,
    log: throughGate(gate, store),
    views: throughGate(gate, store.views),
    index,
    matching,
    clock: gate,
    rng: rng.fork('shards'),
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
    log: parts.logger,
    config: defaultFrontendConfig,
  });
  return { shardHost, frontend };
}
