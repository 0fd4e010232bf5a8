/**
 * Keeps PostgreSQL running: starts it, starts it again on the same port when it died, stops it for good.
 *
 * Invariants
 *  1. At most one PostgreSQL process at a time.
 *  2. Restarts back off from 100 ms to 5 s, and end after `MAX_RESTARTS` that failed in a row; those on a full disk do
 *     not count, since they succeed as soon as somebody has made room.
 *  3. After `stop` nothing is started.
 */
import { createServer } from 'node:net';
import { sleep, type Clock } from '../../../../kernel/clock.ts';
import type { Log } from '../../../../kernel/log.ts';
import type { Rng } from '../../../../kernel/rng.ts';
import { ensureCluster, USER, type Cluster } from './cluster.ts';
import { PostgresProcess } from './postgres-process.ts';

const FIRST_BACK_OFF_MS = 100;
const LONGEST_BACK_OFF_MS = 5_000;
const MAX_RESTARTS = 10;
const PORT_ATTEMPTS = 3;

export type SupervisorOptions = {
  readonly log: Log;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly onRestart?: () => void;
};

export class SupervisedPostgres {
  readonly #cluster: Cluster;
  readonly #options: SupervisorOptions;
  readonly #release: () => Promise<void>;
  readonly #exitListeners: ((cause: Error) => void)[] = [];
  readonly #stopping = new AbortController();
  #process: PostgresProcess | undefined;
  #password = '';
  #port = 0;
  #supervision: Promise<void> = Promise.resolve();

  /** @param release gives the data folder back, once nothing runs on it any more */
  constructor(cluster: Cluster, options: SupervisorOptions, release: () => Promise<void>) {
    this.#cluster = cluster;
    this.#options = options;
    this.#release = release;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  url(databaseName: string): string {
    return `postgres://${USER}:${this.#password}@127.0.0.1:${this.#port}/${encodeURIComponent(databaseName)}`;
  }

  onExit(listener: (cause: Error) => void): void {
    this.#exitListeners.push(listener);
  }

  /** Makes the cluster if there is none, and starts. Somebody else may take a free port first: then another one. */
  async start(): Promise<void> {
    this.#password = await ensureCluster(this.#cluster, this.#options);
    for (let left = PORT_ATTEMPTS; ; left -= 1) {
      this.#port = await freePort();
      try {
        this.#process = await this.#launch();
        break;
      } catch (error) {
        if (left <= 1) throw error;
        this.#options.log.debug({ error }, 'PostgreSQL did not start; trying again');
        await sleep(this.#options.clock, FIRST_BACK_OFF_MS);
      }
    }
    this.#supervision = this.#supervise(this.#process);
  }

  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return this.#supervision;
    this.#stopping.abort();
    await this.#process?.stop();
    await this.#supervision;
    await this.#release();
  }

  async #launch(): Promise<PostgresProcess> {
    const launched = new PostgresProcess(this.#cluster, this.#port, this.#options);
    await launched.started();
    return launched;
  }

  async #supervise(first: PostgresProcess): Promise<void> {
    let current = first;
    for (;;) {
      const ended = await current.exited;
      if (this.#stopping.signal.aborted) return;
      this.#options.log.error({ ended }, 'PostgreSQL died; starting it again');
      const next = await this.#relaunch();
      if (!next) return;
      current = next;
      this.#options.log.info({ pid: next.pid }, 'PostgreSQL runs again');
      this.#options.onRestart?.();
    }
  }

  async #relaunch(): Promise<PostgresProcess | undefined> {
    let backOffMs = FIRST_BACK_OFF_MS;
    let failure: unknown;
    let failures = 0;
    for (let attempt = 0; failures < MAX_RESTARTS; attempt += 1) {
      try {
        // Backends of the dead server may take a moment to notice; PostgreSQL refuses to start before they are gone.
        if (attempt > 0) await sleep(this.#options.clock, backOffMs, this.#stopping.signal);
        const launched = new PostgresProcess(this.#cluster, this.#port, this.#options);
        this.#process = launched;
        await launched.started();
        return launched;
      } catch (error) {
        if (this.#stopping.signal.aborted) return undefined;
        failure = error;
        if (this.#process?.diskFull !== true) failures += 1;
        if (attempt > 0) backOffMs = Math.min(backOffMs * 2, LONGEST_BACK_OFF_MS);
      }
    }
    const cause = new Error(`PostgreSQL died and did not start again in ${MAX_RESTARTS} attempts`, {
      cause: failure,
    });
    this.#options.log.error({ cause }, cause.message);
    for (const listener of this.#exitListeners) listener(cause);
    return undefined;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (typeof address === 'object' && address) resolve(address.port);
        else reject(new Error('the system gave no port'));
      });
    });
  });
}
