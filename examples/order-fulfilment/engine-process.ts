/**
 * An engine as a child process: started by a command, found by its ready line, stopped by its pid.
 *
 * Place: under the demo. The command may be any that prints a ready line with the router's address, as JSON
 * (`{"msg":"ready","address":"127.0.0.1:7233"}`) or as text (`ready … router 127.0.0.1:7233`). A line of JSON may name
 * the admin port, too (`"admin":"http://127.0.0.1:7234"`).
 *
 * Invariants
 *  1. `stop` asks first (SIGTERM) and kills after STOP_MS; it resolves once the process is gone.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const READY_MS = 60_000;
const STOP_MS = 10_000;

export type Addresses = {
  readonly address: string;
  /** Of its admin port; undefined where the ready line names none. */
  readonly admin?: string | undefined;
};

export type Engine = Addresses & {
  /** Stops it; resolves with its exit code, or -1 if it had to be killed. Harmless when called again. */
  stop(): Promise<number>;
};

/** Starts the command and waits for its ready line. */
export async function startEngine(command: string, signal: AbortSignal): Promise<Engine> {
  const [file = '', ...args] = command.split(' ');
  // A group of its own: Ctrl-C on the terminal reaches the demo alone, which then stops its engine in order.
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  try {
    const addresses = await readyAddresses(
      child,
      AbortSignal.any([signal, AbortSignal.timeout(READY_MS)]),
    );
    return { ...addresses, stop: () => stop(child) };
  } catch (error) {
    await stop(child);
    throw error;
  }
}

/** The addresses in a ready line, if it is one. */
export function addressesIn(line: string): Addresses | undefined {
  if (line.startsWith('{')) {
    const { msg, address, admin } = parseFields(line);
    if (msg !== 'ready' || typeof address !== 'string') return undefined;
    return typeof admin === 'string'
      ? { address, admin: admin.replace(/^http:\/\//, '') }
      : { address };
  }
  const address = /\bready\b/.test(line) ? /router (\S+:\d+)/.exec(line)?.[1] : undefined;
  return address === undefined ? undefined : { address };
}

function parseFields(line: string): { msg?: unknown; address?: unknown; admin?: unknown } {
  try {
    return JSON.parse(line) as { msg?: unknown };
  } catch {
    return {};
  }
}

async function readyAddresses(child: ChildProcess, signal: AbortSignal): Promise<Addresses> {
  if (!child.stdout) throw new Error('the engine has no output to read');
  const seen: string[] = [];
  const lines = createInterface({ input: child.stdout, signal });
  const found = new Promise<Addresses>((resolve, reject) => {
    lines.on('line', (line) => {
      const addresses = addressesIn(line);
      if (addresses) resolve(addresses);
      else if (seen.length < 20) seen.push(line);
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      reject(
        new Error(`the engine ended with code ${code} before it was ready:\n${seen.join('\n')}`),
      );
    });
    signal.addEventListener('abort', () =>
      reject(new Error(`the engine was not ready in time:\n${seen.join('\n')}`)),
    );
  });
  return found;
}

async function stop(child: ChildProcess): Promise<number> {
  if (child.exitCode !== null) return child.exitCode;
  if (child.signalCode !== null || child.pid === undefined) return -1;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const late = new AbortController();
  const killing = sleep(STOP_MS, undefined, { signal: late.signal }).then(
    () => child.kill('SIGKILL'),
    () => false,
  );
  await gone;
  late.abort();
  await killing;
  return child.exitCode ?? -1;
}
