import { storageConformance } from '../conformance/storage-conformance.ts';
import { sqlHarness } from './testing/sql-harness.ts';
import { served, useTestServer } from './testing/test-database.ts';

const server = useTestServer(served);

storageConformance('served PostgreSQL', async (isolation) =>
  sqlHarness(await server.emptiedDatabase(), isolation),
);
