/**
 * A child process of the harness: started, waited for, told where to stop, killed by its pid.
 *
 * Place: everything that a torture run starts goes through here, so that everything can be ended.
 *
 * Invariants
 *  1. Every process that was started is ended when the harness ends, by its pid (`endAll`); those of this folder also end
 *     themselves when their channel to the harness breaks.
 *  2. Output goes to a file of its own; what a failure needs to be understood is there.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { sleep, systemClock } from '../../kernel/clock.ts';
import { isReached, type Arm } from './step.ts';

const READY_MS = 60_000;
const STOP_MS = 10_000;

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };
type Ready = Readonly<Record<string, unknown>>;

const alive = new Set<LiveProcess>();
let ending = false;

export class LiveProcess {
  readonly name: string;
  readonly runsDatabase: boolean;
  readonly exited: Promise<Exit>;
  /** Its ready line came. */
  wasReady = false;
  readonly #child: ChildProcess;
  readonly #ready: Promise<Ready>;
  readonly #reached = new Map<string, () => void>();

  /** Starts a file, TypeScript or compiled, with arguments; output is appended to `logFile`. */
  constructor(
    name: string,
    command: readonly string[],
    options: { readonly logFile: string; readonly runsDatabase?: boolean },
  ) {
    if (ending) throw new Error(`${name} is not started: the harness is ending`);
    const { logFile, runsDatabase = false } = options;
    this.name = name;
    this.runsDatabase = runsDatabase;
    const log = openSync(logFile, 'a');
    // A group of its own: Ctrl-C on the terminal reaches the harness alone, which then ends everything in order.
    this.#child = spawn(process.execPath, [...loaderOf(command), ...command], {
      detached: true,
      stdio: ['pipe', 'pipe', log, 'ipc'],
    });
    alive.add(this);
    this.exited = once(this.#child, 'exit').then(([code, signal]) => {
      alive.delete(this);
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
    this.#child.on('message', (message) => {
      if (isReached(message)) this.#reached.get(message.reached)?.();
    });
    this.#ready = this.#readyLine(log);
    this.#ready.catch(() => {});
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The fields of its ready line. Rejects if it ended before, or took too long. */
  ready(): Promise<Ready> {
    return this.#ready;
  }

  /**
   * Resolves true once it waits at the step, false if it did not come to it in time or ended.
   * `asked`: it is told so now; `armed`: it was told so at its start. `signal` ends the waiting early.
   */
  async reach(
    step: string,
    withinMs: number,
    how: 'asked' | 'armed' = 'asked',
    signal?: AbortSignal,
  ): Promise<boolean> {
    const reached = new Promise<boolean>((resolve) => this.#reached.set(step, () => resolve(true)));
    if (how === 'asked') this.#send({ arm: step });
    const over = new AbortController();
    const ends = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
    const late = sleep(systemClock, withinMs, ends).then(
      () => false,
      () => false,
    );
    const came = await Promise.race([reached, late, this.exited.then(() => false)]);
    over.abort();
    this.#reached.delete(step);
    if (!came) this.#send({ arm: null });
    return came;
  }

  /** Lets it go on where it waits at a step. */
  letGo(): void {
    this.#send({ arm: null });
  }

  /** Writes to its standard input. */
  tell(text: string): void {
    if (this.running) this.#child.stdin?.write(text);
  }

  /** Kills it (SIGKILL) and waits until it is gone. */
  async kill(): Promise<void> {
    if (this.running) process.kill(this.pid, 'SIGKILL');
    await this.exited;
  }

  /** Asks it to stop, kills it if it takes too long; resolves with how it ended. */
  async stop(): Promise<Exit> {
    if (this.running) process.kill(this.pid, 'SIGTERM');
    const over = new AbortController();
    const late = sleep(systemClock, STOP_MS, over.signal).then(
      () => this.kill(),
      () => {},
    );
    const exit = await this.exited;
    over.abort();
    await late;
    return exit;
  }

  #send(message: Arm): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  #readyLine(log: number): Promise<Ready> {
    const { stdout } = this.#child;
    if (!stdout) return Promise.reject(new Error(`${this.name} has no output`));
    return new Promise((resolve, reject) => {
      createInterface({ input: stdout }).on('line', (line) => {
        writeSync(log, `${line}\n`);
        const ready = parseReady(line);
        if (!ready) return;
        this.wasReady = true;
        resolve(ready);
      });
      void this.exited.then(({ code, signal }) =>
        reject(new Error(`${this.name} ended (${signal ?? code}) before it was ready`)),
      );
      systemClock.after(READY_MS, () => reject(new Error(`${this.name} was not ready in time`)));
    });
  }
}

/**
 * Ends whatever is still alive, for the end of the harness, however it comes: those that run a database stop in order, so
 * that it stops with them. Nothing can be started any more.
 */
export async function endAll(): Promise<void> {
  ending = true;
  const all = [...alive];
  await Promise.all(all.filter((one) => !one.runsDatabase).map((one) => one.kill()));
  await Promise.all(all.map((one) => one.stop()));
}

/** The same where nothing can be waited for any more. */
export function endAllNow(): void {
  for (const one of alive) {
    if (one.running) process.kill(one.pid, 'SIGKILL');
  }
}

function loaderOf([file = '']: readonly string[]): readonly string[] {
  return file.endsWith('.ts') ? ['--import', 'tsx'] : [];
}

function parseReady(line: string): Ready | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const fields = JSON.parse(line) as Ready;
    return fields['msg'] === 'ready' ? fields : undefined;
  } catch {
    return undefined;
  }
}
