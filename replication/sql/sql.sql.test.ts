import { afterAll, beforeAll, describe } from 'vitest';
import { systemClock } from '../../kernel/clock.ts';
import { silentLog } from '../../kernel/log.ts';
import { openSqlStore, type SqlStore } from '../../cell/storage/sql/sql-store.ts';
import { useTestServer } from '../../cell/storage/sql/testing/test-database.ts';
import { deadLettersConformance } from '../conformance/dead-letters.ts';
import { lossesConformance } from '../conformance/losses.ts';
import { SqlDeadLetters } from './dead-letters.ts';
import { SqlLosses } from './losses.ts';

describe('replication on PostgreSQL', () => {
  const server = useTestServer();
  const stores: SqlStore[] = [];
  beforeAll(async () => {
    const url = await server.freshDatabase();
    stores.push(await openSqlStore({ url, clock: systemClock, log: silentLog }));
  });
  afterAll(() => {
    for (const store of stores) store.close();
  });

  /** One database for all tests, its table emptied. */
  const emptied = async (table: string) => {
    const [store] = stores;
    if (store === undefined) throw new Error('the store is not open');
    const signal = AbortSignal.timeout(10_000);
    await store.database.query(`TRUNCATE ${table}`, [], { signal });
    return store.database;
  };
  describe('dead letters', () =>
    deadLettersConformance(async () => new SqlDeadLetters(await emptied('dead_letter'))));
  describe('losses', () => lossesConformance(async () => new SqlLosses(await emptied('loss'))));
});
