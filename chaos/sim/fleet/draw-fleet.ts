/** What a fleet begins with, drawn from its seed: its first map, bounds and paces. */
import { shardConfig, type ShardConfig } from '../../../cell/shard/config.ts';
import { EMPTY_FLEET_MAP, type FleetMap } from '../../../fleet/map.ts';
import { registerCell, registerNamespace, type Change } from '../../../fleet/table.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type { SeededRng } from '../../../kernel/testing/seeded-rng.ts';
import { replicationConfig, type ReplicationConfig } from '../../../replication/config.ts';
import { NAMESPACE, NAMESPACE_ID } from '../host.ts';

export function firstMap(shards: { readonly a: number; readonly b: number }): FleetMap {
  const cell = (address: string, count: number) => ({ region: 'r', address, shards: count });
  const a = changed(registerCell(EMPTY_FLEET_MAP, 'a', cell('127.0.0.1:1', shards.a)));
  const b = changed(registerCell(a, 'b', cell('127.0.0.1:2', shards.b)));
  return changed(
    registerNamespace(b, {
      id: NAMESPACE_ID,
      name: NAMESPACE,
      description: '',
      ownerEmail: '',
      data: {},
      retentionMs: 3 * 86_400_000,
      registeredAt: 0,
      cell: 'a',
      replicas: ['b'],
    }),
  );
}

function changed(change: Change): FleetMap {
  invariant(change.kind === 'changed', `the first map is refused: ${JSON.stringify(change)}`);
  return change.map;
}

export function drawReplication(rng: SeededRng): ReplicationConfig {
  const small = rng.chance(0.3);
  return replicationConfig({
    callMs: rng.pick([1_500, 4_000]),
    probeEveryMs: 500,
    repairAfterMs: 1_000,
    repairMaxMs: 4_000,
    laneBudgetMs: rng.chance(0.4) ? rng.integer(1_000, 6_000) : 600_000,
    ...(small ? { laneQueueBytes: 8_000, pushBytes: 3_000, pushItems: 5 } : {}),
    logPageRows: rng.chance(0.5) ? rng.integer(1, 5) : 200,
  });
}

export function drawConfig(rng: SeededRng): ShardConfig {
  return shardConfig({
    checkpointIntervalMs: rng.integer(100, 3_000),
    cachedRunLimit: rng.chance(0.4) ? rng.integer(1, 4) : 1_000,
    recentHistoryBytes: rng.chance(0.5) ? 1 : 64 * 1024,
    scanAgainMs: rng.chance(0.3) ? 5_000 : 600_000,
    timerWindow: rng.chance(0.3) ? rng.integer(2, 10) : 20_000,
    appendDeadlineMs: 1_000,
    appendGiveUpMs: 3_000,
    statementDeadlineMs: 1_500,
  });
}
