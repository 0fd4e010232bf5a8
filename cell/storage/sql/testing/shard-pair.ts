/**
 * A primary, its streaming standby, and a host of shards that reaches them by one URL, for tests of a promotion.
 *
 * The host checkpoints never by itself, so that what a test loses is what it means to lose.
 */
import { expect } from 'vitest';
import { systemClock } from '../../../../kernel/clock.ts';
import { silentLog } from '../../../../kernel/log.ts';
import { systemRng } from '../../../../kernel/rng.ts';
import { startInput } from '../../../history/testing/inputs.ts';
import { InMemoryMatching } from '../../../matching/in-memory-matching.ts';
import { shardConfig } from '../../../shard/config.ts';
import { ShardHost } from '../../../shard/shard-host.ts';
import { shardOf } from '../../../shard/shard-of.ts';
import type { Stop } from '../../../shard/shard-owner.ts';
import { NAMESPACE } from '../../conformance/samples.ts';
import type { RangeId, ShardId } from '../../shard-log.ts';
import { openSqlStore, type SqlStore } from '../sql-store.ts';
import { cuttableProxy, type CuttableProxy } from './cuttable-proxy.ts';
import { runSql } from './raw-connection.ts';
import { copyCluster, startServed, type Cluster, type ServedPostgres } from './served-postgres.ts';

export const SHARDS = 4;
const DATABASE = 'cell';
const PATIENT = { timeout: 15_000 };

const STREAMED = `SELECT count(*)::int4 AS count FROM pg_stat_replication
  WHERE state = 'streaming' AND replay_lsn >= pg_current_wal_flush_lsn()`;

/** Makes and empties the cell's database on a server that stands alone. */
export async function prepare(server: ServedPostgres): Promise<void> {
  const store = await openSqlStore({
    url: server.url(DATABASE),
    clock: systemClock,
    log: silentLog,
  });
  const { signal } = new AbortController();
  await store.migrate(signal);
  await store.provision(SHARDS, signal);
  store.close();
}

export class ShardPair {
  readonly stops: { readonly shard: ShardId; readonly kind: Stop['kind'] }[] = [];
  readonly host: ShardHost;
  readonly #primary: ServedPostgres;
  readonly #standby: ServedPostgres;
  readonly #proxy: CuttableProxy;
  readonly #store: SqlStore;

  private constructor(parts: {
    readonly primary: ServedPostgres;
    readonly standby: ServedPostgres;
    readonly proxy: CuttableProxy;
    readonly store: SqlStore;
  }) {
    this.#primary = parts.primary;
    this.#standby = parts.standby;
    this.#proxy = parts.proxy;
    this.#store = parts.store;
    this.host = new ShardHost({
      log: parts.store.log,
      views: parts.store.views,
      index: { upsert: async () => {} },
      matching: new InMemoryMatching({ clock: systemClock }),
      clock: systemClock,
      rng: systemRng,
      logger: silentLog,
      config: shardConfig({ checkpointIntervalMs: 3_600_000 }),
      shardCount: SHARDS,
      shards: Array.from({ length: SHARDS }, (_, index) => index as ShardId),
      epochOf: () => 1,
      onShardStopped: (shard, stop) => this.stops.push({ shard, kind: stop.kind }),
    });
  }

  /** Starts the pair on copies of a prepared data directory. */
  static async open(base: Cluster, name: string, synchronous: boolean): Promise<ShardPair> {
    const primary = await startServed(
      await copyCluster(base, `${name}-primary`),
      synchronous ? { synchronous_standby_names: '*' } : {},
    );
    const standby = await startServed(await copyCluster(base, `${name}-standby`, primary));
    await expect
      .poll(() => runSql(primary.url('postgres'), STREAMED), PATIENT)
      .toEqual([{ count: 1 }]);
    const proxy = await cuttableProxy(primary.url(DATABASE));
    const store = await openSqlStore({ url: proxy.url, clock: systemClock, log: silentLog });
    const pair = new ShardPair({ primary, standby, proxy, store });
    await pair.host.open();
    return pair;
  }

  /** Starts a workflow; resolves once it is acknowledged. */
  async start(workflowId: string): Promise<void> {
    const input = startInput({ requestId: workflowId });
    const target = { namespaceId: NAMESPACE, workflowId };
    await this.host.start(target, input, { signal: AbortSignal.timeout(20_000), epoch: 1 });
  }

  /** Signals it; resolves once that is acknowledged, which a run that is lost never does. */
  async signal(workflowId: string): Promise<void> {
    const input = { kind: 'signal', requestId: '', name: 'go', identity: 'client' } as const;
    const target = { namespaceId: NAMESPACE, workflowId };
    await this.host.execute(target, input, { signal: AbortSignal.timeout(20_000), epoch: 1 });
  }

  /** Claims a shard beside the host, as another process does; tried again while the database is away. */
  async claim(shard: ShardId): Promise<RangeId> {
    let range: RangeId | undefined;
    const claim = async () => {
      range ??= await this.#store.log
        .claim(shard, AbortSignal.timeout(5_000))
        .catch(() => undefined);
      return range;
    };
    await expect.poll(claim, PATIENT).toBeDefined();
    return claim() as Promise<RangeId>;
  }

  /** Everything that is stored has reached the standby. */
  async streamed(): Promise<void> {
    const url = this.#primary.url('postgres');
    await expect.poll(() => runSql(url, STREAMED), PATIENT).toEqual([{ count: 1 }]);
  }

  /** From here the standby receives nothing more. */
  async stopStreaming(): Promise<void> {
    const url = this.#standby.url('postgres');
    await runSql(url, `ALTER SYSTEM SET primary_conninfo = ''`);
    await runSql(url, 'SELECT pg_reload_conf()');
    const receivers = () => runSql(url, 'SELECT pid FROM pg_stat_wal_receiver');
    await expect.poll(receivers, PATIENT).toEqual([]);
  }

  /** The primary is killed, the standby promoted, and the URL leads there. */
  async failOver(): Promise<void> {
    await this.#primary.kill();
    await runSql(this.#standby.url('postgres'), 'SELECT pg_promote()');
    this.#proxy.leadTo(this.#standby.url(DATABASE));
    this.#proxy.cut();
  }

  /** Rows of a shard's log on the new primary. */
  async rows(shard: ShardId): Promise<number> {
    const [row] = await runSql<{ readonly count: number }>(
      this.#standby.url(DATABASE),
      'SELECT count(*)::int4 AS count FROM shard_log WHERE shard_id = $1',
      [shard],
    );
    return row?.count ?? 0;
  }

  async close(): Promise<void> {
    await this.host.close();
    this.#store.close();
    await this.#proxy.close();
    await this.#primary.kill();
    await this.#standby.stop();
  }
}

/** Workflow ids of this shard. */
export function idsOf(shard: number, count: number): readonly string[] {
  const ids: string[] = [];
  for (let number = 0; ids.length < count; number += 1) {
    const id = `order-${number}`;
    if (shardOf(NAMESPACE, id, SHARDS) === shard) ids.push(id);
  }
  return ids;
}
