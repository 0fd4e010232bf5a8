/** The commands of an operator, run in this process as `atoll` runs them, for tests against an admin that is there. */
import { Command } from 'commander';
import { addOperatorCommands } from '../../admin/cli/commands.ts';
import { systemClock } from '../../kernel/clock.ts';

export type OperatorRun = { readonly code: number; readonly out: string; readonly err: string };

/** @param admin `host:port` of atoll.admin.v1. Resolves when the command would end its process. */
export function operator(admin: string): (line: string) => Promise<OperatorRun> {
  return async (line) => {
    let out = '';
    let err = '';
    const program = new Command().exitOverride();
    const ended = new Promise<number>((resolve) => {
      addOperatorCommands(program, {
        out: (text) => (out += text),
        err: (text) => (err += text),
        env: { ATOLL_ADDRESS: admin },
        clock: systemClock,
        ask: undefined,
        interrupted: new AbortController().signal,
        begin: () => resolve,
      });
    });
    await program.parseAsync(line.split(' '), { from: 'user' });
    return { code: await ended, out, err };
  };
}
