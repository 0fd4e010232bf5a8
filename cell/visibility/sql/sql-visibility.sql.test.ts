import { afterAll, beforeAll, describe } from 'vitest';
import { systemClock } from '../../../kernel/clock.ts';
import { silentLog } from '../../../kernel/log.ts';
import { openSqlStore, type SqlStore } from '../../storage/sql/sql-store.ts';
import { useTestServer } from '../../storage/sql/testing/test-database.ts';
import { visibilityConformance } from '../conformance/visibility.ts';
import { SqlVisibility } from './sql-visibility.ts';

describe('visibility on PostgreSQL', () => {
  const server = useTestServer();
  const stores: SqlStore[] = [];

  beforeAll(async () => {
    const url = await server.freshDatabase();
    stores.push(await openSqlStore({ url, clock: systemClock, log: silentLog }));
  });

  afterAll(() => {
    for (const store of stores) store.close();
  });

  visibilityConformance(async () => {
    const [store] = stores;
    if (store === undefined) throw new Error('the store is not open');
    // One database for all tests: the table is all there is of visibility.
    await store.database.query('TRUNCATE visibility', [], { signal: AbortSignal.timeout(10_000) });
    return new SqlVisibility(store.database);
  });
});
