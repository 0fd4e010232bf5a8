/**
 * An engine as a child process: started by a command, found by its ready line, stopped by its pid.
 *
 * Place: under the demo. The command may be any that prints a ready line with the router's address, as JSON
 * (`{"msg":"ready","address":"127.0.0.1:7233"}`) or as text (`ready … router 127.0.0.1:7233`).
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

export type Engine = {
  readonly address: string;
  /** Stops it; resolves with its exit code, or -1 if it had to be killed. Harmless when called again. */
  stop(): Promise<number>;
};

/** Starts the command and waits for its ready line. */
export async function startEngine(command: string, signal: AbortSignal): Promise<Engine> {
  const [file = '', ...args] = command.split(' ');
  // A group of its own: Ctrl-C on the terminal reaches the demo alone, which then stops its engine in order.
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  try {
    const address = await readyAddress(
      child,
      AbortSignal.any([signal, AbortSignal.timeout(READY_MS)]),
    );
    return { address, stop: () => stop(child) };
  } catch (error) {
    await stop(child);
    throw error;
  }
}

/** The router's address in a ready line, if it is one. */
export function addressIn(line: string): string | undefined {
  if (line.startsWith('{')) {
    const { msg, address } = parseFields(line);
    return msg === 'ready' && typeof address === 'string' ? address : undefined;
  }
  return /\bready\b/.test(line) ? /router (\S+:\d+)/.exec(line)?.[1] : undefined;
}

function parseFields(line: string): { msg?: unknown; address?: unknown } {
  try {
    return JSON.parse(line) as { msg?: unknown; address?: unknown };
  } catch {
    return {};
  }
}

async function readyAddress(child: ChildProcess, signal: AbortSignal): Promise<string> {
  if (!child.stdout) throw new Error('the engine has no output to read');
  const seen: string[] = [];
  const lines = createInterface({ input: child.stdout, signal });
  const found = new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      const address = addressIn(line);
      if (address) resolve(address);
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
