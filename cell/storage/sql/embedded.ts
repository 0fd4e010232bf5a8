/**
 * A PostgreSQL of our own: started, watched and stopped by this process, with its data in one folder.
 *
 * Place: `atoll dev` and the tests run on it. The binaries come from npm; nothing is installed on the machine.
 *
 * Invariants
 *  1. Durable as a served one: fsync, full page writes and synchronous commit are on.
 *  2. One engine per data folder; a second one is refused, an orphan of a killed process is awaited or stopped first.
 *  3. It listens on loopback only, on a port chosen at start that a restart keeps, with a password that only the
 *     folder's owner can read.
 *  4. PostgreSQL does not outlive this process for long, even if that is killed: a pipe tells it (postgres-process.ts).
 */
import type { Clock } from '../../../kernel/clock.ts';
import type { Log } from '../../../kernel/log.ts';
import type { Rng } from '../../../kernel/rng.ts';
import { findBinaries } from './embedded/binaries.ts';
import { prepareDataFolder, type DataFolder } from './embedded/data-folder.ts';
import { runningIdentity } from './embedded/identity.ts';
import { claimFolder } from './embedded/ownership.ts';
import { SupervisedPostgres } from './embedded/supervisor.ts';

export type EmbeddedPostgresOptions = {
  /** Folder of the database, made if it is missing. Nothing else belongs in it. */
  readonly dataDir: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly rng: Rng;
  /** Run after PostgreSQL died and was started again, on the same port. */
  readonly onRestart?: () => void;
};

export type EmbeddedPostgres = {
  /** The URL of a database of this server, password included: not for logs. */
  url(databaseName: string): string;
  readonly port: number;
  /** The folder in use. */
  readonly dataDir: string;
  /** The folder that was asked for, where the unprivileged user could not have reached it. */
  readonly relocatedFrom: string | undefined;
  /** Process id of the postmaster; another one after a restart. */
  pid(): number | undefined;
  /** Fast shutdown, then a harder one if that takes longer than the deadline. */
  stop(): Promise<void>;
  /** Runs the listener once if PostgreSQL died and could not be started again. */
  onExit(listener: (cause: Error) => void): void;
};

/**
 * Starts PostgreSQL on a data folder, making the database cluster first if there is none.
 * Rejects with an AtollError: a folder of another user, an engine already on it, a platform without binaries.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const identity = await runningIdentity();
  const binaries = await findBinaries(identity);
  const folder = await prepareDataFolder(options.dataDir, identity);
  const release = await claimFolder(folder, options);
  try {
    const cluster = { folder, binaries, identity };
    const server = new SupervisedPostgres(cluster, options, release);
    await server.start();
    return handle(server, folder);
  } catch (error) {
    await release();
    throw error;
  }
}

function handle(server: SupervisedPostgres, folder: DataFolder): EmbeddedPostgres {
  return {
    url: (databaseName) => server.url(databaseName),
    port: server.port,
    dataDir: folder.path,
    relocatedFrom: folder.relocatedFrom,
    pid: () => server.pid,
    stop: () => server.stop(),
    onExit: (listener) => server.onExit(listener),
  };
}
