/**
 * One life of the PostgreSQL server process.
 *
 * Place: the supervisor starts one, and another when it died.
 *
 * Invariants
 *  1. `started` settles once: the server accepts connections, or the process ended, or the deadline passed.
 *  2. If our own process is killed, the server shuts down: a small watcher outside both waits for the end of a pipe
 *     that we hold open. The server has a session of its own, so that Ctrl-C reaches us and not it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../../../kernel/clock.ts';
import { AtollError } from '../../../../kernel/errors.ts';
import type { Log } from '../../../../kernel/log.ts';
import { ENVIRONMENT, type Cluster } from './cluster.ts';

const START_MS = 120_000;
const FAST_STOP_MS = 10_000;
const HARD_STOP_MS = 5_000;
const LAST_LINES = 20;
/** A full disk is said once in this time, however many writes fail. */
const SAY_AGAIN_MS = 60_000;
/** What PostgreSQL adds to a failed write, whatever it wrote. */
const DISK_FULL = 'No space left on device';

/**
 * The shell leaves a watcher behind (twice forked, so that PostgreSQL never becomes its parent) and then becomes
 * PostgreSQL. A line on the pipe sends the watcher home; the pipe's end without one means that we were killed.
 */
const LAUNCH =
  '( ( read -r _ <&3 || kill -INT $$ ) </dev/null >/dev/null 2>&1 & ) ; exec 3<&- ; exec "$@"';

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_connections: '60',
  shared_buffers: '128MB',
  max_wal_size: '1GB',
  checkpoint_timeout: '15min',
  max_parallel_workers_per_gather: '0',
  max_logical_replication_workers: '0',
  jit: 'off',
  log_destination: 'stderr',
  log_line_prefix: '',
  log_checkpoints: 'off',
  log_min_error_statement: 'panic',
  password_encryption: 'scram-sha-256',
};

export type StopSignal = 'SIGINT' | 'SIGQUIT' | 'SIGKILL';

export class PostgresProcess {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #lastLines: string[] = [];
  readonly #folder: string;
  /** When it was last said that the disk is full. */
  #diskFullAt: number | undefined;
  readonly exited: Promise<string>;
  #ready: () => void = () => {};

  constructor(
    cluster: Cluster,
    port: number,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#clock = clock;
    this.#log = log;
    const settings = Object.entries(SETTINGS).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const { folder, binaries, identity } = cluster;
    this.#folder = folder.path;
    const command = [binaries.postgres, '-D', folder.cluster, '-p', String(port), ...settings];
    this.#child = spawn('/bin/sh', ['-c', LAUNCH, 'atoll-postgres', ...command], {
      env: ENVIRONMENT,
      cwd: folder.path,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      ...(identity.lowered ? { uid: identity.uid, gid: identity.gid } : {}),
    });
    this.exited = this.#watchExit();
    this.#watchOutput();
  }

  get pid(): number | undefined {
    return this.#child.exitCode === null && this.#child.signalCode === null
      ? this.#child.pid
      : undefined;
  }

  /** It has failed to write for want of space. */
  get diskFull(): boolean {
    return this.#diskFullAt !== undefined;
  }

  /** Resolves once the server accepts connections. */
  async started(): Promise<void> {
    const ready = new Promise<undefined>((resolve) => {
      this.#ready = () => resolve(undefined);
    });
    const late = this.#deadline(START_MS);
    const ended = await Promise.race([ready, this.exited, late.passed]);
    late.cancel();
    if (ended === undefined) return;
    this.#child.kill('SIGKILL');
    throw new AtollError(
      'unavailable',
      `PostgreSQL did not start (${ended}): ${this.#lastLines.join(' | ') || 'it said nothing'}`,
    );
  }

  /** Shuts down fast: open transactions roll back, everything is flushed. Harder if that takes too long. */
  async stop(): Promise<void> {
    const steps: readonly (readonly [StopSignal, number])[] = [
      ['SIGINT', FAST_STOP_MS],
      ['SIGQUIT', HARD_STOP_MS],
      ['SIGKILL', HARD_STOP_MS],
    ];
    for (const [signal, withinMs] of steps) {
      this.#child.kill(signal);
      const late = this.#deadline(withinMs);
      const ended = await Promise.race([this.exited, late.passed.then(() => undefined)]);
      late.cancel();
      if (ended !== undefined) return;
      this.#log.warn({ signal }, 'PostgreSQL does not stop');
    }
  }

  #deadline(afterMs: number): { readonly passed: Promise<string>; cancel(): void } {
    let cancel = () => {};
    const passed = new Promise<string>((resolve) => {
      cancel = this.#clock.after(afterMs, () => resolve(`nothing within ${afterMs} ms`));
    });
    return { passed, cancel: () => cancel() };
  }

  #watchExit(): Promise<string> {
    // The fourth descriptor is the pipe that the watcher holds the other end of.
    const leash = this.#child.stdio[3] as Writable | null;
    leash?.on('error', () => {});
    return new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('exit', (code, signal) => {
        leash?.end('done\n');
        resolve(signal ?? `exit ${code}`);
      });
    });
  }

  #watchOutput(): void {
    const output: Readable | null = this.#child.stderr;
    if (!output) return;
    createInterface({ input: output }).on('line', (line) => {
      this.#lastLines.push(line);
      if (this.#lastLines.length > LAST_LINES) this.#lastLines.shift();
      if (line.includes('database system is ready to accept connections')) this.#ready();
      if (line.includes(DISK_FULL)) this.#sayDiskFull();
      if (line.startsWith('PANIC:')) this.#log.error({}, `PostgreSQL: ${line}`);
      else this.#log.debug({}, `PostgreSQL: ${line}`);
    });
  }

  #sayDiskFull(): void {
    const now = this.#clock.monotonicMs();
    if (this.#diskFullAt !== undefined && now < this.#diskFullAt + SAY_AGAIN_MS) return;
    this.#diskFullAt = now;
    this.#log.error(
      { folder: this.#folder },
      `the disk of ${this.#folder} is full: free some space there. Nothing acknowledged is lost, and calls go on by themselves`,
    );
  }
}
