import { storageConformance } from '../conformance/storage-conformance.ts';
import { sqlHarness } from './testing/sql-harness.ts';
import { useTestServer } from './testing/test-database.ts';

const server = useTestServer();

// The server that a user starts runs at both levels: served.sql.test.ts.
storageConformance(
  'embedded PostgreSQL',
  async (isolation) => sqlHarness(await server.emptiedDatabase(), isolation),
  ['read committed'],
);
