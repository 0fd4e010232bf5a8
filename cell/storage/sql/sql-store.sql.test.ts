import { storageConformance } from '../conformance/storage-conformance.ts';
import { sqlHarness } from './testing/sql-harness.ts';
import { useTestServer } from './testing/test-database.ts';

const server = useTestServer();

storageConformance('PostgreSQL', async (isolation) =>
  sqlHarness(await server.emptiedDatabase(), isolation),
);
