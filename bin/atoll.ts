#!/usr/bin/env node
/** The `atoll` command: reads flags and environment, and hands over to a role. */
import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import {
  describeOptions,
  flagOf,
  resolveConfig,
  type Config,
  type Options,
} from '../kernel/config.ts';
import { AtollError } from '../kernel/errors.ts';
import { cellOptions, devOptions, routerOptions } from './options.ts';
import { runCell } from './cell.ts';
import { startDev } from './dev.ts';
import { EXIT } from './exit-codes.ts';
import { runRole, type LogOptions, type RoleStart } from './run-role.ts';
import { runRouter } from './router.ts';

const program = new Command('atoll')
  .description('A durable workflow engine that spans regions. Speaks the Temporal API.')
  .version(version())
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));

role(
  'dev',
  'a whole fleet in one process: router, two cells, namespace default',
  devOptions,
  (config) => ({
    log: { level: config.logLevel, format: config.logFormat },
    start: (ports) =>
      startDev(
        {
          host: config.host,
          port: config.port,
          data: config.inMemory ? undefined : config.data,
          namespaces: config.namespace.split(',').map((name) => name.trim()),
        },
        ports,
      ),
  }),
);

role('cell', 'one cell, on a PostgreSQL database of its own', cellOptions, (config) => ({
  log: { level: config.logLevel, format: config.logFormat },
  start: (ports) => runCell(config, ports),
}));

role('router', 'a router in front of the cells of a fleet', routerOptions, (config) => ({
  log: { level: config.logLevel, format: config.logFormat },
  start: (ports) => runRouter(config, ports),
}));

await program.parseAsync();

type Role = {
  readonly log: LogOptions;
  readonly start: RoleStart;
};

/** Adds a subcommand whose flags are the role's options. */
function role<const Declared extends Options>(
  name: string,
  meaning: string,
  declared: Declared,
  make: (config: Config<Declared>) => Role,
): void {
  const command = program.command(name).description(meaning).showHelpAfterError();
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));
  const lines = describeOptions(declared);
  Object.entries(declared).forEach(([field, option], i) => {
    const text = lines[i]?.slice(flagOf(field).length).trim() ?? '';
    const flag = option.kind === 'switch' ? flagOf(field) : `${flagOf(field)} <value>`;
    command.addOption(new Option(flag, text));
  });
  command.action(async (flags: Record<string, string | boolean | undefined>) => {
    let chosen: Role;
    try {
      chosen = make(resolveConfig(declared, { flags, env: process.env }));
    } catch (error) {
      if (!(error instanceof AtollError)) throw error;
      process.stderr.write(`${error.message}\nSee atoll ${name} --help.\n`);
      process.exit(EXIT.usage);
    }
    await runRole(chosen.log, chosen.start);
  });
}

function version(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const text = readFileSync(new URL(path, import.meta.url), 'utf8');
      return (JSON.parse(text) as { version: string }).version;
    } catch {
      // The built command lies one folder deeper than its source.
    }
  }
  return 'unknown';
}
