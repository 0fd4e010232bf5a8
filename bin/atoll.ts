#!/usr/bin/env node
/** The `atoll` command: reads flags and environment, and hands over to a role. Roles are loaded when they are chosen. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { EXIT } from './exit-codes.ts';
import { addOperators } from './operator-commands.ts';
import {
  adminOptions,
  cellOptions,
  devOptions,
  doctorOptions,
  routerOptions,
  routerRelations,
} from './options.ts';
import { addCommand, addRole } from './role-command.ts';
import { addStartDev } from './start-dev-command.ts';

const program = new Command('atoll')
  .description('A durable workflow engine that spans regions. Speaks the Temporal API.')
  .version(version())
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));

addRole(program, {
  name: 'dev',
  meaning: 'a whole fleet in one process: router, two cells, namespace default',
  options: devOptions,
  start: async (config, ports) => {
    const { startDev } = await import('./dev.ts');
    const { host, port, adminPort, namespace, metricsPort, metricsHost } = config;
    const data = config.inMemory ? undefined : config.data;
    const namespaces = namespace.split(',').map((name) => name.trim());
    const ops = { metricsPort, metricsHost };
    return startDev({ host, port, adminPort, data, namespaces, ops }, ports);
  },
});
addRole(program, {
  name: 'cell',
  meaning: 'one cell, on a PostgreSQL database of its own',
  options: cellOptions,
  start: async (config, ports) => (await import('./cell.ts')).runCell(config, ports),
});
addRole(program, {
  name: 'router',
  meaning: 'a router in front of the cells of a fleet',
  options: routerOptions,
  relations: routerRelations,
  start: async (config, ports) => (await import('./router.ts')).runRouter(config, ports),
});
addRole(program, {
  name: 'admin',
  meaning: "the operators' port, which drives moves",
  options: adminOptions,
  start: async (config, ports) => (await import('./admin.ts')).runAdmin(config, ports),
});
addOperators(program);
addStartDev(program);
addCommand(
  program,
  { name: 'doctor', meaning: 'says what is wrong with a configuration', options: doctorOptions },
  async (config) => {
    const { examine, report } = await import('./doctor.ts');
    const findings = await examine(config);
    process.stdout.write(report(findings));
    process.exitCode = findings.some(({ state }) => state === 'wrong') ? EXIT.failed : EXIT.ok;
  },
);

await program.parseAsync();

function version(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const text = readFileSync(new URL(path, import.meta.url), 'utf8');
      const { version: own } = JSON.parse(text) as { version?: string };
      if (own !== undefined) return own;
    } catch {
      // The built command lies one folder deeper than its source.
    }
  }
  return 'unknown';
}
