/**
 * A second cell that keeps a copy of one namespace: another `atoll cell`, with a PostgreSQL of its own, on the fleet of the
 * engine under test.
 *
 * Place: the engine starts one when the replication scenario asks for it, and stops it with itself.
 */
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sleep } from '../load/time.ts';
import { portOr } from './free-port.ts';
import { Leashed } from './leashed.ts';
import { startPostgres, type BenchPostgres } from './postgres.ts';

export const REPLICATED = 'replicated';
const READY_MS = 30_000;
const STOP_MS = 10_000;
const COMMAND_MS = 30_000;
const TRIES = 50;
const RETRY_MS = 200;

export type ReplicaOptions = {
  readonly cli: string;
  readonly folder: string;
  readonly fleet: string;
  /** The cell where the namespace is active. */
  readonly active: string;
};

export class Replica {
  readonly #postgres: BenchPostgres;
  readonly #cell: Leashed;

  private constructor(postgres: BenchPostgres, cell: Leashed) {
    this.#postgres = postgres;
    this.#cell = cell;
  }

  /** Starts both and registers the namespace REPLICATED; resolves when the map says so. */
  static async start(options: ReplicaOptions): Promise<Replica> {
    const folder = join(options.folder, 'replica');
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    const postgres = await startPostgres(folder, await portOr(0));
    const url = postgres.url('bench_replica');
    const args = ['--cell-id', 'replica', '--region', 'elsewhere', '--postgres-url', url];
    const cell = await launched('cell', args, options);
    const port = await portOr(0);
    const admin = await launched('admin', ['--port', String(port)], options);
    await registerReplicated(options, `127.0.0.1:${port}`);
    await admin.stop();
    return new Replica(postgres, cell);
  }

  get cellPid(): number {
    return this.#cell.pid;
  }

  get postgresPid(): number {
    return this.#postgres.pid();
  }

  async stop(): Promise<void> {
    await this.#cell.stop();
    await this.#postgres.stop();
  }
}

async function launched(
  role: 'cell' | 'admin',
  args: readonly string[],
  { cli, folder, fleet }: ReplicaOptions,
): Promise<Leashed> {
  const name = `replica-${role}`;
  const common = ['--fleet', fleet, '--log-format', 'json'];
  const process_ = new Leashed({
    name: `atoll ${role}`,
    command: [process.execPath, cli, role, ...common, ...args],
    logFile: join(folder, `${name}.log`),
    stopSignal: 'TERM',
    stopWithinMs: STOP_MS,
  });
  await process_.saying((output) => output.includes('"msg":"ready"') || undefined, READY_MS);
  return process_;
}

/** Asks until the admin has seen both cells in the map. */
async function registerReplicated(options: ReplicaOptions, address: string): Promise<void> {
  const args = ['namespace', 'create', REPLICATED, '--region', options.active];
  const command = [options.cli, ...args, '--replica', 'replica', '--address', address];
  for (let attempt = 1; ; attempt += 1) {
    try {
      await promisify(execFile)(process.execPath, command, { timeout: COMMAND_MS });
      return;
    } catch (error) {
      if (attempt === TRIES) throw error;
      await sleep(RETRY_MS);
    }
  }
}
