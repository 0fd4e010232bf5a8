import { storageConformance } from '../../conformance/storage-conformance.ts';
import { sqlHarness, type OtherAdapter } from '../testing/sql-harness.ts';
import { useTestServer } from '../testing/test-database.ts';
import { asYugabyte, nodeOf, standInForYugabyte } from '../testing/yb-servers.ts';
import { openYugabyteStore } from './yugabyte-store.ts';

const server = useTestServer();

const yugabyte: OtherAdapter = {
  appendsApart: true,
  async open(options, serverUrl) {
    await standInForYugabyte(serverUrl, [nodeOf(options.url)]);
    return openYugabyteStore({ ...options, url: asYugabyte(options.url) });
  },
};

// REPEATABLE READ is what READ COMMITTED is where YugabyteDB serves it as snapshot.
storageConformance('YugabyteDB adapter on PostgreSQL with a stand-in', async (isolation) =>
  sqlHarness(await server.emptiedDatabase(), isolation, yugabyte),
);
