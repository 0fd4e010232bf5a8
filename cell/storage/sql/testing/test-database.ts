/**
 * PostgreSQL for tests: one server per test file, embedded unless it says otherwise, and a fresh, migrated and provisioned database per test.
 *
 * Place: `*.sql.test.ts` of any part. Call `useTestServer()` once, at the top of the file.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { systemClock } from '../../../../kernel/clock.ts';
import { silentLog } from '../../../../kernel/log.ts';
import { systemRng } from '../../../../kernel/rng.ts';
import { startEmbeddedPostgres } from '../embedded.ts';
import { openSqlStore } from '../sql-store.ts';
import { runSql } from './raw-connection.ts';
import { makeCluster, startServed } from './served-postgres.ts';

const SHARDS = 8;
const TEMPLATE = 'atoll_template';

/** Ends what earlier tests left behind, then empties every table. */
const EMPTY = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend';
  DELETE FROM shard_log; DELETE FROM run; DELETE FROM execution; DELETE FROM ledger; DELETE FROM history;
  DELETE FROM timer; DELETE FROM task; DELETE FROM cell_identity;
  UPDATE shard SET range_id = 0, checkpoint_seq = 0, deleted_seq = 0, notes = NULL`;

export type TestServer = {
  /** URL of a new database with the current schema and 8 shards. */
  freshDatabase(): Promise<string>;
  /** URL of one database that all tests of the file share, emptied and provisioned again: much faster. */
  emptiedDatabase(): Promise<string>;
  /** URL of a database that may not exist. */
  url(databaseName: string): string;
};

type RunningServer = { url(databaseName: string): string; stop(): Promise<void> };

function embedded(dataDir: string): Promise<RunningServer> {
  return startEmbeddedPostgres({
    dataDir,
    log: silentLog,
    clock: systemClock,
    rng: systemRng,
  });
}

/** A server that the engine did not start, as a user's is. */
export async function served(folder: string): Promise<RunningServer> {
  return startServed(await makeCluster(folder, 'served'), { fsync: 'off' });
}

/** Starts a server before the tests of this file and stops it after them. */
export function useTestServer(
  start: (folder: string) => Promise<RunningServer> = embedded,
): TestServer {
  let server: RunningServer | undefined;
  let folder = '';
  let made = 0;
  const running = () => {
    if (!server) throw new Error('the test server is not running');
    return server;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atoll-test-'));
    server = await start(folder);
    const store = await openSqlStore({
      url: server.url(TEMPLATE),
      clock: systemClock,
      log: silentLog,
    });
    const { signal } = new AbortController();
    await store.migrate(signal);
    await store.provision(SHARDS, signal);
    store.close();
  });
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    url: (databaseName) => running().url(databaseName),
    async emptiedDatabase() {
      const url = running().url(TEMPLATE);
      await runSql(url, EMPTY);
      return url;
    },
    async freshDatabase() {
      const name = `test_${(made += 1)}`;
      await copyTemplate(running().url('postgres'), name);
      return running().url(name);
    },
  };
}

/** The template may have a connection left that is just closing. */
async function copyTemplate(maintenanceUrl: string, name: string): Promise<void> {
  for (let left = 50; ; left -= 1) {
    try {
      await runSql(maintenanceUrl, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
      return;
    } catch (error) {
      if (left <= 1) throw error;
    }
  }
}
