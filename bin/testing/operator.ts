/** The commands of an operator, run in this process as `atoll` runs them, for tests against an admin that is there. */
import { Command } from 'commander';
import { addOperatorCommands } from '../../admin/cli/commands.ts';
import { systemClock } from '../../kernel/clock.ts';
import { silentLog as log } from '../../kernel/log.ts';
import { clientTls } from '../tls.ts';

export type OperatorRun = { readonly code: number; readonly out: string; readonly err: string };

/**
 * @param admin `host:port` of atoll.admin.v1
 * @param env of the command besides. Resolves when the command would end its process.
 */
export function operator(
  admin: string,
  env: Readonly<Record<string, string>> = {},
): (line: string) => Promise<OperatorRun> {
  return async (line) => {
    let out = '';
    let err = '';
    const program = new Command().exitOverride();
    const ended = new Promise<number>((resolve) => {
      addOperatorCommands(program, {
        out: (text) => (out += text),
        err: (text) => (err += text),
        env: { ...env, ATOLL_ADDRESS: admin },
        clock: systemClock,
        ask: undefined,
        interrupted: new AbortController().signal,
        begin: () => resolve,
        tls: (files) => clientTls({ ...files, flag: '--admin-tls' }, { clock: systemClock, log }),
      });
    });
    await program.parseAsync(line.split(' '), { from: 'user' });
    return { code: await ended, out, err };
  };
}
