/** All commands of an operator, for `atoll` (bin/atoll.ts). */
import type { Command } from 'commander';
import { addFailoverCommands } from './failover.ts';
import { addFleetCommands } from './fleet.ts';
import { addMoveCommands } from './move.ts';
import { addNamespaceCommands } from './namespace.ts';
import type { CliPorts } from './ports.ts';

export function addOperatorCommands(program: Command, ports: CliPorts): void {
  addNamespaceCommands(program, ports);
  addMoveCommands(program, ports);
  addFailoverCommands(program, ports);
  addFleetCommands(program, ports);
}
