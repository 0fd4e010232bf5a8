/** Statements of the bench's own between rounds, each on a connection of its own. */
import { Client } from 'pg';

const CONNECT_MS = 10_000;
const STATEMENT_MS = 120_000;

/** Writes what is dirty and clears what is dead now, so that neither falls into a window by chance. */
export async function settleDatabase(url: string): Promise<void> {
  await runStatements(url, ['VACUUM', 'CHECKPOINT']);
}

/** Drops the database of that URL; who is still on it is disconnected. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await runStatements(adminUrl, [`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`]);
}

async function runStatements(url: string, statements: readonly string[]): Promise<void> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS,
  });
  client.on('error', () => {});
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
