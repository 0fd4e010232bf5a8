/** Runs a TypeScript file of a test as a process that can be stopped and killed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type TestProcess = {
  readonly child: ChildProcess;
  /** The next line that it prints. */
  line(): Promise<string>;
  /** Kills it and waits for its end. */
  kill(): Promise<void>;
};

export function startProcess(script: URL, args: readonly string[]): TestProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    async line() {
      const next = await lines.next();
      if (next.done === true) throw new Error('the process ended without another line');
      return String(next.value);
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
