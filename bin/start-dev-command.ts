/**
 * `atoll server start-dev`: the dev server under the flags with which official SDK test kits and scripts start one.
 *
 * Place: beside the roles of atoll.ts. It runs the same parts as `atoll dev`, in memory unless `--db-filename` names a
 * place for data. What the flags mean is start-dev-flags.ts's.
 */
import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { AtollError } from '../kernel/errors.ts';
import { EXIT } from './exit-codes.ts';
import { runRole, type RolePorts } from './run-role.ts';
import {
  ACCEPTED_FLAGS,
  readStartDevFlags,
  REPEATABLE_FLAGS,
  STARTED_WITH,
  type RawFlags,
  type StartDev,
} from './start-dev-flags.ts';

/** Adds `server start-dev`. */
export function addStartDev(program: Command): void {
  const server = program.command('server').description('the dev server for SDK test kits');
  const command = server
    .command('start-dev')
    .description('atoll dev with the flags that SDK test kits use; in memory by default')
    .showHelpAfterError();
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));
  for (const [flag, meaning] of Object.entries(STARTED_WITH)) command.option(flag, meaning);
  for (const [flag, meaning] of Object.entries(REPEATABLE_FLAGS)) {
    command.option(flag, meaning, gather);
  }
  for (const flag of ACCEPTED_FLAGS) command.option(flag, 'accepted, without effect', gather);
  command.action(async (flags: RawFlags) => {
    let asked: StartDev;
    try {
      asked = readStartDevFlags(flags);
    } catch (error) {
      if (!(error instanceof AtollError)) throw error;
      process.stderr.write(`${error.message}\nSee atoll server start-dev --help.\n`);
      process.exit(EXIT.usage);
    }
    await runRole(asked.log, (ports) => start(asked, ports));
  });
}

async function start(asked: StartDev, ports: RolePorts): Promise<unknown> {
  for (const flag of asked.withoutEffect) {
    ports.log.warn({ flag }, 'this flag is accepted and has no effect: Atoll serves gRPC alone');
  }
  const { dev } = asked;
  if (dev.data !== undefined) await refuseFile(dev.data);
  const { startDev } = await import('./dev.ts');
  return startDev(dev, ports);
}

/** Ours is a folder; a file there is somebody's database of another kind. */
async function refuseFile(path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there === undefined || there.isDirectory()) return;
  throw new AtollError(
    'failed-precondition',
    `--db-filename ${path} is a file: Atoll keeps its data in a folder of that name; choose another path`,
  );
}

function gather(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}
