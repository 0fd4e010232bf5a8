/**
 * One connection to the database: statements one after the other, each with a deadline. The only file that works with
 * a driver's client; the options' `Server` says which.
 *
 * Place: under the writer session, the reader pool and the checkpoint.
 *
 * Invariants
 *  1. A statement that was sent is answered, or the connection is lost: nobody waits longer than `statementMs` plus
 *     `GRACE_MS`. The caller may stop waiting earlier; the connection then stays busy until the server answers.
 *  2. A lost connection never works again, and says so once. Its errors never reach the process.
 *  3. At most `MAX_WAITING` statements wait (P11).
 */
import pg from 'pg';
import type { CancelAlarm, Clock } from '../../../kernel/clock.ts';
import { AtollError } from '../../../kernel/errors.ts';
import { allowManyListeners } from '../many-listeners.ts';
import { connectError, statementError, type Endpoint } from './connection-errors.ts';
import type { SqlValue } from './database.ts';
import type { Node, Server } from './server.ts';

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
  readonly server: Server;
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
  /** Differs between any two servers, and between two lives of one; the same for all nodes of one database. */
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
    this.#endpoint = endpointOf(client, options.server);
    this.facts = facts;
    client.on('error', () => this.#lose());
    client.on('end', () => this.#lose());
  }

  /** Connects and sets the session up. Rejects with a typed error that says what to do. */
  static async open(options: ConnectionOptions): Promise<SqlConnection> {
    let failure: unknown;
    for (const node of options.server.nodes()) {
      try {
        return await SqlConnection.#join(options, node);
      } catch (error) {
        failure ??= error;
      }
    }
    throw failure;
  }

  static async #join(options: ConnectionOptions, node: Node | undefined): Promise<SqlConnection> {
    const { server } = options;
    const client = server.newClient({
      connectionString: urlOf(options.url, node),
      application_name: `atoll ${options.purpose}`,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      types: { getTypeParser },
    });
    // The driver reports the loss of a connection also before and after it is ours.
    const ignore = () => {};
    client.on('error', ignore);
    const endpoint = endpointOf(client, server);
    try {
      await client.connect();
      const facts = await setUp(client, options);
      await server.joined(client, node);
      const identity = server.oneServerASession ? facts.identity : server.product;
      return new SqlConnection(client, options, { ...facts, identity });
    } catch (error) {
      server.failed(node);
      void client.end().catch(ignore);
      throw error instanceof AtollError ? error : connectError(error, endpoint);
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
      allowManyListeners(signal);
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
  }

  #lostError(): AtollError {
    const { product, host, port } = this.#endpoint;
    return new AtollError(
      'unavailable',
      `the connection to ${product} at ${host}:${port} is lost; a new one is made with the next call`,
    );
  }
}

/** The URL, led to this node; drivers know the schemes of PostgreSQL alone. */
function urlOf(url: string, node: Node | undefined): string {
  if (node === undefined && /^postgres/i.test(url)) return url;
  const led = new URL(url.replace(/^[a-z]+:/i, 'postgres:'));
  if (!node) return led.href;
  led.hostname = node.host;
  led.port = String(node.port);
  return led.href;
}

function endpointOf(client: pg.Client, { product }: Server): Endpoint {
  return {
    product,
    host: client.host,
    port: client.port,
    user: client.user ?? '',
    database: client.database ?? '',
  };
}

function deadlineError(endpoint: Endpoint): AtollError {
  return new AtollError(
    'deadline-exceeded',
    `${endpoint.product} at ${endpoint.host}:${endpoint.port} did not answer in time`,
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
