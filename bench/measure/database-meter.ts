/**
 * What PostgreSQL says it did: statements by kind, transactions that wrote, WAL.
 *
 * Place: the meter asks it before and after a window, over one connection that does not count itself.
 *
 * Invariants
 *  1. Where pg_stat_statements is not there, statements are unknown, never zero.
 */
import { Client } from 'pg';
import { kindOf, type StatementKind } from './statements.ts';

const CONNECT_MS = 10_000;
const STATEMENT_MS = 30_000;
/** In our own statements: pg_stat_statements keeps comments. */
const MARK = 'atoll-bench';

const COUNTERS = `SELECT /* ${MARK} */
  -- Transaction ids handed out: transactions that wrote.
  pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS writes,
  (pg_current_wal_lsn() - '0/0')::float8 AS "walBytes",
  (SELECT wal_fpi FROM pg_stat_wal)::float8 AS "fullPageImages",
  (SELECT wal_sync FROM pg_stat_wal)::float8 AS "walSyncs"`;
const STATEMENTS = `SELECT /* ${MARK} */ query, calls::float8 AS calls
  FROM pg_stat_statements WHERE query NOT LIKE '%${MARK}%'`;

type Counters = {
  readonly writes: number;
  readonly walBytes: number;
  readonly fullPageImages: number;
  readonly walSyncs: number;
};

/** Counters since the start of the server. */
export type DatabaseSnapshot = Counters & {
  readonly statements: Readonly<Record<StatementKind, number>> | undefined;
};

export class DatabaseMeter {
  readonly #client: Client;
  readonly #hasStatements: boolean;

  private constructor(client: Client, hasStatements: boolean) {
    this.#client = client;
    this.#hasStatements = hasStatements;
  }

  /** Connects as a superuser to a database that no engine uses. */
  static async open(url: string): Promise<DatabaseMeter> {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: STATEMENT_MS,
    });
    // A server that is stopped at the end of the bench is no news.
    client.on('error', () => {});
    await client.connect();
    const hasStatements = await client
      .query(`CREATE EXTENSION IF NOT EXISTS pg_stat_statements`)
      .then(() => client.query(STATEMENTS))
      .then(
        () => true,
        () => false,
      );
    return new DatabaseMeter(client, hasStatements);
  }

  get hasStatements(): boolean {
    return this.#hasStatements;
  }

  async snapshot(): Promise<DatabaseSnapshot> {
    const { rows } = await this.#client.query<Counters>(COUNTERS);
    const [counters] = rows;
    if (counters === undefined) throw new Error('PostgreSQL told no counters');
    return { ...counters, statements: await this.#statements() };
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  async #statements(): Promise<DatabaseSnapshot['statements']> {
    if (!this.#hasStatements) return undefined;
    const { rows } = await this.#client.query<{ query: string; calls: number }>(STATEMENTS);
    const sums = { read: 0, write: 0, control: 0 };
    for (const { query, calls } of rows) sums[kindOf(query)] += calls;
    return sums;
  }
}
