/** The conformance suite's harness on PostgreSQL: all faults are made from outside, with plain SQL. */
import { expect } from 'vitest';
import { systemClock } from '../../../../kernel/clock.ts';
import { silentLog } from '../../../../kernel/log.ts';
import type { Isolation, StorageHarness } from '../../conformance/harness.ts';
import { never, range, seq } from '../../conformance/samples.ts';
import type { LogRow, ShardId } from '../../shard-log.ts';
import { openSqlStore, type SqlStore, type SqlStoreOptions } from '../sql-store.ts';
import { cuttableProxy, type CuttableProxy } from './cuttable-proxy.ts';
import { openRaw, runSql, type RawConnection } from './raw-connection.ts';

const INSERT = `INSERT INTO shard_log (shard_id, seq, range_id, nonce, takeover, record)
  VALUES ($1, $2, $3, encode($4, 'hex')::uuid, $5, $6)`;

const KILL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE 'atoll%' AND pid <> pg_backend_pid()`;

const BLOCKED = `SELECT count(*)::int4 AS count FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

function valuesOf(row: LogRow): readonly unknown[] {
  const { shard, seq: position, range: owner, nonce, takeover, record } = row;
  return [shard, position, owner, Buffer.from(nonce), takeover, Buffer.from(record)];
}

/** Breaks a store's connections, and waits until it has noticed. */
async function untilNoticed(store: SqlStore, breakThem: () => unknown): Promise<void> {
  const sessionNow = async () => (await store.log.verify([], never)).session;
  const before = await sessionNow();
  await breakThem();
  await expect.poll(() => sessionNow().catch(() => before)).toBeGreaterThan(before);
}

async function readRows(url: string, shard: ShardId): Promise<readonly LogRow[]> {
  const rows = await runSql<{
    seq: string;
    range_id: string;
    takeover: boolean;
    record: Buffer;
  }>(
    url,
    'SELECT seq, range_id, takeover, record FROM shard_log WHERE shard_id = $1 ORDER BY seq',
    [shard],
  );
  return rows.map((row) => ({
    shard,
    seq: seq(Number(row.seq)),
    range: range(Number(row.range_id)),
    nonce: new Uint8Array(16),
    takeover: row.takeover,
    record: row.record,
  }));
}

/** Another adapter than that for PostgreSQL. */
export type OtherAdapter = {
  /** Opens a store through a proxy in front of the server; may prepare the server, by its own URL, to lead there. */
  open(options: SqlStoreOptions, serverUrl: string): Promise<SqlStore>;
  readonly appendsApart: boolean;
};

const postgres: OtherAdapter = { open: openSqlStore, appendsApart: false };

export function sqlHarness(
  url: string,
  isolation: Isolation,
  adapter: OtherAdapter = postgres,
): StorageHarness {
  const stores: SqlStore[] = [];
  const proxies: CuttableProxy[] = [];
  const open: RawConnection[] = [];
  return {
    appendsApart: adapter.appendsApart,
    async connect() {
      const proxy = await cuttableProxy(url);
      proxies.push(proxy);
      const options = {
        url: proxy.url,
        isolation,
        clock: systemClock,
        log: silentLog,
        // A loaded machine must not turn a wait for a lock into a timeout.
        writeStatementMs: 45_000,
        claimSpread: 1,
      };
      const store = await adapter.open(options, url);
      stores.push(store);
      return {
        log: store.log,
        views: store.views,
        breakConnections: () => untilNoticed(store, () => proxy.cut()),
      };
    },
    async hold(row) {
      const connection = await openRaw(url);
      open.push(connection);
      await connection.run('BEGIN');
      await connection.run(INSERT, valuesOf(row));
      return {
        commit: async () => void (await connection.run('COMMIT')),
        rollback: async () => void (await connection.run('ROLLBACK')),
      };
    },
    async untilBlocked() {
      await expect
        .poll(async () => (await runSql<{ count: number }>(url, BLOCKED))[0]?.count)
        .toBeGreaterThan(0);
    },
    async landLate(row) {
      await runSql(url, `${INSERT} ON CONFLICT DO NOTHING`, valuesOf(row));
    },
    async promoteWithout(row) {
      await runSql(url, 'DELETE FROM shard_log WHERE shard_id = $1 AND seq = $2', [
        row.shard,
        row.seq,
      ]);
      for (const store of stores) await untilNoticed(store, () => runSql(url, KILL));
    },
    rows: (shard) => readRows(url, shard),
    async close() {
      for (const store of stores) store.close();
      for (const connection of open) await connection.close();
      for (const proxy of proxies) await proxy.close();
    },
  };
}
