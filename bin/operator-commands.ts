/** What the commands of an operator (admin/cli) take from this process: terminal, environment, Ctrl-C. */
import type { Command } from 'commander';
import { addOperatorCommands } from '../admin/cli/commands.ts';
import { systemClock } from '../kernel/clock.ts';
import { silentLog, type Log } from '../kernel/log.ts';
import { ask } from './ask.ts';

/** Adds `namespace`, `move`, `failover`, `loss-report` and `fleet`. */
export function addOperators(program: Command): void {
  const interrupt = new AbortController();
  addOperatorCommands(program, {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    env: process.env,
    clock: systemClock,
    ask: process.stdin.isTTY ? (question) => ask(question) : undefined,
    interrupted: interrupt.signal,
    tls: async (files) => {
      const { clientTls } = await import('./tls.ts');
      return clientTls({ ...files, flag: '--admin-tls' }, { clock: systemClock, log: toStderr });
    },
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

/** Of a certificate that expires soon a person is told, and a script's output is left alone. */
const toStderr: Log = {
  ...silentLog,
  warn: (fields, message) => {
    const facts = Object.entries(fields).map(([name, value]) => `${name} ${String(value)}`);
    process.stderr.write(`${message} (${facts.join(', ')})\n`);
  },
};
