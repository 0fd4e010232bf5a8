/** A subcommand whose flags are a role's options (options.ts): each also an environment variable, all checked at once. */
import { Option, type Command } from 'commander';
import {
  describeOptions,
  flagOf,
  resolveConfig,
  type Config,
  type Options,
  type Relation,
} from '../kernel/config.ts';
import { AtollError } from '../kernel/errors.ts';
import { EXIT } from './exit-codes.ts';
import type { logOptions } from './options.ts';
import { runRole, type RolePorts } from './run-role.ts';

type RoleCommand<Declared extends Options> = {
  readonly name: string;
  /** For `--help`. */
  readonly meaning: string;
  readonly options: Declared;
  readonly relations?: readonly Relation<Declared>[];
  start(config: Config<Declared>, ports: RolePorts): Promise<unknown>;
};

/** Adds the subcommand; chosen, it runs the role until the process is told to stop. */
export function addRole<const Declared extends Options & typeof logOptions>(
  program: Command,
  role: RoleCommand<Declared>,
): void {
  addCommand(program, role, (config) => {
    const { logLevel, logFormat } = config as Config<typeof logOptions>;
    return runRole({ level: logLevel, format: logFormat }, (ports) => role.start(config, ports));
  });
}

/** Adds a subcommand with these options; wrong ones end the process with the usage code. */
export function addCommand<const Declared extends Options>(
  program: Command,
  command: Omit<RoleCommand<Declared>, 'start'>,
  run: (config: Config<Declared>) => Promise<void>,
): void {
  const { name, meaning, options, relations } = command;
  const subcommand = program.command(name).description(meaning).showHelpAfterError();
  subcommand.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));
  const lines = describeOptions(options);
  Object.entries(options).forEach(([field, option], i) => {
    const text = lines[i]?.slice(flagOf(field).length).trim() ?? '';
    const flag = option.kind === 'switch' ? flagOf(field) : `${flagOf(field)} <value>`;
    subcommand.addOption(new Option(flag, text));
  });
  subcommand.action(async (flags: Record<string, string | boolean | undefined>) => {
    let config: Config<Declared>;
    try {
      config = resolveConfig(options, { flags, env: process.env }, relations);
    } catch (error) {
      if (!(error instanceof AtollError)) throw error;
      process.stderr.write(`${error.message}\nSee atoll ${name} --help.\n`);
      process.exit(EXIT.usage);
    }
    await run(config);
  });
}
