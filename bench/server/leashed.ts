/**
 * Processes of the servers under test: started, waited for, stopped, killed; each on a leash.
 *
 * Place: everything of the bench that is no helper of its own (load/) is started here.
 *
 * Invariants
 *  1. However the bench ends, its servers end too: a watcher beside each waits for the end of a pipe that the bench holds
 *     open, and tells the server to stop when the bench is gone.
 *  2. Ctrl-C on the terminal reaches the bench alone: each server has a session of its own.
 *  3. What a server says goes to a file.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { sleep } from '../load/time.ts';

/** A line on the pipe sends the watcher home; its end without one means that the bench is gone. */
const LAUNCH =
  '( ( read -r _ <&3 || kill -s "$0" $$ ) </dev/null >/dev/null 2>&1 & ) ; exec 3<&- ; exec "$@"';
const LOOK_MS = 20;
const LAST_BYTES = 2_000;

export type Launch = {
  readonly name: string;
  readonly command: readonly string[];
  readonly logFile: string;
  /** How it is told to stop. */
  readonly stopSignal: 'TERM' | 'INT';
  readonly stopWithinMs: number;
  readonly cwd?: string;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  readonly environment?: Readonly<Record<string, string>>;
};

const running = new Set<Leashed>();
let ending = false;

export class Leashed {
  readonly #launch: Launch;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #logFrom: number;
  #over = false;

  constructor(launch: Launch) {
    if (ending) throw new Error(`${launch.name} is not started: the bench is ending`);
    this.#launch = launch;
    const log = openSync(launch.logFile, 'a');
    this.#logFrom = readFileSync(launch.logFile).length;
    const { command, stopSignal, cwd, user, environment } = launch;
    this.#child = spawn('/bin/sh', ['-c', LAUNCH, stopSignal, ...command], {
      detached: true,
      stdio: ['ignore', log, log, 'pipe'],
      env: { ...process.env, ...environment },
      ...(cwd === undefined ? {} : { cwd }),
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    });
    closeSync(log);
    running.add(this);
    this.#exited = this.#watch();
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get isRunning(): boolean {
    return !this.#over;
  }

  /**
   * Waits for `ready`, which looks at what the server has said since it was started.
   * @throws Error with the last lines when it ends before, or takes too long
   */
  async saying<Found>(
    ready: (output: string) => Found | undefined,
    withinMs: number,
  ): Promise<Found> {
    const until = performance.now() + withinMs;
    for (;;) {
      const output = readFileSync(this.#launch.logFile).subarray(this.#logFrom).toString();
      const found = ready(output);
      if (found !== undefined) return found;
      const late = performance.now() > until;
      if (late || this.#over) {
        const why = late ? `was not ready within ${withinMs} ms` : 'ended before it was ready';
        throw new Error(`${this.#launch.name} ${why}:\n${output.slice(-LAST_BYTES)}`);
      }
      await sleep(LOOK_MS);
    }
  }

  /** Kills it at once, as a power cut would. */
  async kill(): Promise<void> {
    this.#signal('SIGKILL');
    await this.#exited;
  }

  /** Tells it to stop, and kills it if that takes too long. */
  async stop(): Promise<void> {
    this.#signal(`SIG${this.#launch.stopSignal}`);
    const late = setTimeout(() => this.#signal('SIGKILL'), this.#launch.stopWithinMs);
    await this.#exited;
    clearTimeout(late);
  }

  #signal(signal: NodeJS.Signals): void {
    if (!this.#over) this.#child.kill(signal);
  }

  #watch(): Promise<void> {
    const leash = this.#child.stdio[3] as Writable | null;
    leash?.on('error', () => {});
    return new Promise((resolve) => {
      const over = () => {
        this.#over = true;
        running.delete(this);
        leash?.end('done\n');
        resolve();
      };
      this.#child.once('error', over);
      this.#child.once('exit', over);
    });
  }
}

/** Stops what still runs, the last started first: engines before their database. Nothing can be started any more. */
export async function stopAll(): Promise<void> {
  ending = true;
  for (const process of [...running].toReversed()) await process.stop();
}
