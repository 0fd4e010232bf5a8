/**
 * The `atoll` command as processes, for tests that stop, kill and restart it as its users' machines do. Call `useAtoll`
 * once, at the top of a file: what a test leaves running is killed after the last one.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { afterAll, beforeAll } from 'vitest';
import { compileAtoll, type CompiledAtoll } from './compiled-atoll.ts';

export type Ended = { readonly code: number | null; readonly output: string };

export type AtollProcess = {
  /** All that it wrote so far, on both of its outputs. */
  output(): string;
  /** The address in its ready line. Rejects with what it wrote if it ends before; for logs in JSON. */
  ready(): Promise<string>;
  /** Resolves when it has ended and all that it wrote is here. */
  ended(): Promise<Ended>;
  /** Signals it; a process that is gone already is left alone. */
  kill(signal: NodeJS.Signals): void;
  readonly child: ChildProcess;
};

export type AtollCommand = {
  /** The executable file. */
  path(): string;
  start(flags: readonly string[], environment?: NodeJS.ProcessEnv): AtollProcess;
};

const READY = /"address":"([^"]+)"[^\n]*"msg":"ready"/;
const COMPILE_MS = 120_000;

/** `name` parts one test file from another. */
export function useAtoll(name: string): AtollCommand {
  let atoll: CompiledAtoll | undefined;
  const children = new Set<ChildProcess>();
  beforeAll(async () => {
    atoll = await compileAtoll(name);
  }, COMPILE_MS);
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await atoll?.remove();
  });
  const path = () => {
    if (atoll === undefined) throw new Error('the command is compiled before the tests');
    return atoll.path;
  };
  return {
    path,
    start(flags, environment = {}) {
      const child = spawn(process.execPath, [path(), ...flags], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...environment },
      });
      children.add(child);
      child.once('close', () => children.delete(child));
      return processOf(child);
    },
  };
}

function processOf(child: ChildProcess): AtollProcess {
  let output = '';
  let look = () => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      look();
    });
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
  const ready = new Promise<string>((resolve, reject) => {
    look = () => {
      const address = READY.exec(output)?.[1];
      if (address !== undefined) resolve(address);
    };
    const early = ({ code }: Ended) => new Error(`ended with ${code} before ready: ${output}`);
    ended.then((end) => reject(early(end)), reject);
  });
  // A test may care for only one of the two.
  for (const promise of [ended, ready]) promise.catch(() => {});
  return {
    child,
    output: () => output,
    ready: () => ready,
    ended: () => ended,
    kill: (signal) => void child.kill(signal),
  };
}
