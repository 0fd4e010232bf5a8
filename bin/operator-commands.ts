/** What the commands of an operator (admin/cli) take from this process: terminal, environment, Ctrl-C. */
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { addOperatorCommands } from '../admin/cli/commands.ts';
import { systemClock } from '../kernel/clock.ts';

/** Adds `namespace`, `move`, `failover`, `loss-report` and `fleet`. */
export function addOperators(program: Command): void {
  const interrupt = new AbortController();
  addOperatorCommands(program, {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    env: process.env,
    clock: systemClock,
    ask: process.stdin.isTTY ? ask : undefined,
    interrupted: interrupt.signal,
    begin: () => {
      // A second Ctrl-C ends the process at once. Timers of ours do not keep it alive; this does.
      process.once('SIGINT', () => interrupt.abort(new Error('Ctrl-C')));
      const alive = setInterval(() => {}, 60_000);
      return (code) => {
        clearInterval(alive);
        process.exitCode = code;
      };
    },
  });
}

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}
