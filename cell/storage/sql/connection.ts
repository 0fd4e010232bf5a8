/**
 * One connection to PostgreSQL: statements one after the other, each with a deadline. The only file that knows the
 * driver.
 *
 * Place: under the writer session, the reader pool and the checkpoint.
 *
 * Invariants
 *  1. A statement that was sent is answered, or the connection is lost: nobody waits longer than `statementMs` plus
 *     `GRACE_MS`. The caller may stop waiting earlier; the connection then stays busy until the server answers.
 *  2. A lost connection never works again, and says so once. Its errors never reach the process.
 *  3. At most `MAX_WAITING` statements wait (P11).
 */
import { setMaxListeners } from 'node:events';
import pg from 'pg';
import type { CancelAlarm, Clock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import { connectError, statementError, type Endpoint } from './connection-errors.ts';
import type { SqlValue } from './database.ts';

const GRACE_MS = 1_000;
const CONNECT_MS = 5_000;
const MAX_WAITING = 256;

export type Statement = {
  readonly text: string;
  readonly values: readonly SqlValue[];
  /** The name of the prepared statement. */
  readonly name?: string | undefined;
};

export type ConnectionOptions = {
  readonly url: string;
  readonly clock: Clock;
  /** Shown in pg_stat_activity. */
  readonly purpose: string;
  readonly isolation: 'read committed' | 'repeatable read';
  /** The server ends a statement after this time: shorter than any client waits. */
  readonly statementMs: number;
  /** How long a statement may wait for one lock, such as a key in somebody's open transaction. */
  readonly lockMs: number;
};

/** What the server said of itself when the connection was made. */
export type ServerFacts = {
  /** Differs between any two servers, and between two lives of one. */
  readonly identity: string;
  readonly standby: boolean;
  readonly version: number;
  readonly encoding: string;
  readonly fsync: boolean;
};

type Job = {
  readonly statement: Statement;
  readonly resolve: (rows: readonly unknown[]) => void;
  readonly reject: (error: AtollError) => void;
};

export class SqlConnection {
  readonly facts: ServerFacts;
  readonly #client: pg.Client;
  readonly #options: ConnectionOptions;
  readonly #endpoint: Endpoint;
  readonly #waiting: Job[] = [];
  readonly #onLost = new Set<() => void>();
  #onIdle: () => void = () => {};
  #active: Job | undefined;
  #lost = false;

  private constructor(client: pg.Client, options: ConnectionOptions, facts: ServerFacts) {
    this.#client = client;
    this.#options = options;
    this.#endpoint = endpointOf(client);
    this.facts = facts;
    client.on('error', () => this.#lose());
    client.on('end', () => this.#lose());
  }

  /** Connects and sets the session up. Rejects with a typed error that says what to do. */
  static async open(options: ConnectionOptions): Promise<SqlConnection> {
    const client = new pg.Client({
      connectionString: options.url,
      application_name: `atoll ${options.purpose}`,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      types: { getTypeParser },
    });
    const ignore = () => {};
    client.on('error', ignore);
    const endpoint = endpointOf(client);
    try {
      await client.connect();
      const facts = await setUp(client, options);
      const connection = new SqlConnection(client, options, facts);
      client.off('error', ignore);
      return connection;
    } catch (error) {
      void client.end().catch(ignore);
      throw connectError(error, endpoint);
    }
  }

  get endpoint(): Endpoint {
    return this.#endpoint;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** Statements sent and waiting. */
  get load(): number {
    return this.#waiting.length + (this.#active ? 1 : 0);
  }

  /** Runs `listener` once when the connection is lost or closed. */
  onLost(listener: () => void): void {
    if (this.#lost) listener();
    else this.#onLost.add(listener);
  }

  /** Runs `listener` whenever the last statement has been answered, also one that its caller gave up. */
  onIdle(listener: () => void): void {
    this.#onIdle = listener;
  }

  /** Runs one statement in a transaction of its own. A rejection says nothing about what was stored. */
  run<Row>(statement: Statement, signal: AbortSignal): Promise<readonly Row[]> {
    if (this.#lost) return Promise.reject(this.#lostError());
    if (signal.aborted) return Promise.reject(deadlineError(this.#endpoint));
    if (this.#waiting.length === MAX_WAITING) {
      return Promise.reject(
        new AtollError(
          'resource-exhausted',
          `${MAX_WAITING} statements already wait for the database connection "${this.#options.purpose}"`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      const done = () => signal.removeEventListener('abort', giveUp);
      const job: Job = {
        statement,
        resolve: (rows) => {
          done();
          // The statement's text is the promise that its rows have this shape.
          resolve(rows as readonly Row[]);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      };
      const giveUp = () => {
        const index = this.#waiting.indexOf(job);
        if (index >= 0) this.#waiting.splice(index, 1);
        job.reject(deadlineError(this.#endpoint));
      };
      // One deadline may cover any number of statements.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(job);
      this.#next();
    });
  }

  /** Gives the connection up. What was sent may still be carried out. */
  close(): void {
    void this.#client.end().catch(() => {});
    this.#lose();
  }

  #next(): void {
    if (this.#active || this.#lost) return;
    const job = this.#waiting.shift();
    if (!job) return;
    this.#active = job;
    const cancelAlarm = this.#options.clock.after(this.#options.statementMs + GRACE_MS, () =>
      this.close(),
    );
    void this.#send(job, cancelAlarm);
  }

  async #send(job: Job, cancelAlarm: CancelAlarm): Promise<void> {
    const { text, values, name } = job.statement;
    try {
      const result = await this.#client.query({
        text,
        values: [...values],
        ...(name === undefined ? {} : { name }),
      });
      job.resolve(result.rows);
    } catch (error) {
      job.reject(statementError(error, this.#endpoint));
    } finally {
      cancelAlarm();
      this.#active = undefined;
      this.#next();
      if (this.load === 0 && !this.#lost) this.#onIdle();
    }
  }

  #lose(): void {
    if (this.#lost) return;
    this.#lost = true;
    const error = this.#lostError();
    this.#active?.reject(error);
    for (const job of this.#waiting.splice(0)) job.reject(error);
    for (const listener of this.#onLost) listener();
    this.#onLost.clear();
    // The driver still reports the loss of a connection that we have just given up.
    this.#client.on('error', () => {});
  }

  #lostError(): AtollError {
    const { host, port } = this.#endpoint;
    return new AtollError(
      'unavailable',
      `the connection to PostgreSQL at ${host}:${port} is lost; a new one is made with the next call`,
    );
  }
}

function endpointOf(client: pg.Client): Endpoint {
  return {
    host: client.host,
    port: client.port,
    user: client.user ?? '',
    database: client.database ?? '',
  };
}

function deadlineError(endpoint: Endpoint): AtollError {
  return new AtollError(
    'deadline-exceeded',
    `PostgreSQL at ${endpoint.host}:${endpoint.port} did not answer in time`,
  );
}

const INT8 = 20;

/** int8 as number: positions, times and counts of ours are safe integers. */
function getTypeParser(...[oid, format]: Parameters<typeof pg.types.getTypeParser>): unknown {
  return oid === INT8 ? Number : pg.types.getTypeParser(oid, format);
}

/**
 * The planner settings keep a plan that was made for a nearly empty table from scanning a full one: every statement
 * here goes by the primary key.
 */
async function setUp(client: pg.Client, options: ConnectionOptions): Promise<ServerFacts> {
  const results: unknown = await client.query(`
    SET statement_timeout = ${options.statementMs};
    SET lock_timeout = ${options.lockMs};
    SET idle_in_transaction_session_timeout = 2000;
    SET default_transaction_isolation = '${options.isolation}';
    SET enable_seqscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET plan_cache_mode = force_generic_plan;
    SET jit = off;
    SET client_min_messages = error;
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
    SELECT pg_is_in_recovery() AS standby,
           pg_postmaster_start_time()::text AS identity,
           current_setting('server_version_num')::int4 AS version,
           current_setting('server_encoding') AS encoding,
           current_setting('fsync') = 'on' AS fsync`);
  // Several statements in one string give an array of results, which the driver's types do not say.
  const last = (results as pg.QueryResult<ServerFacts>[]).at(-1)?.rows[0];
  if (!last) throw new Error('the server did not describe itself');
  return last;
}
