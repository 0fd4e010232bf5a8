/** `atoll fleet show`: cells, namespaces, and the moves that run. */
import type { Command } from 'commander';
import type { AdminResponse } from '../../wire/atoll/admin.ts';
import { CLI_EXIT } from './exit.ts';
import { namespaceTable } from './namespace.ts';
import type { CliPorts } from './ports.ts';
import { runCommand, withCommonFlags, type Flags } from './session.ts';
import { moveLine } from './show-move.ts';
import { table } from './text.ts';

export function addFleetCommands(program: Command, ports: CliPorts): void {
  const group = program.command('fleet').description('the fleet as a whole');
  const show = group.command('show').description('shows cells, namespaces and running moves');
  withCommonFlags(show, 'atoll fleet show').action((flags: Flags) =>
    runCommand(ports, flags, async (session) => {
      const fleet = await session.client.call('DescribeFleet', {});
      session.show(fleet, () => fleetText(fleet));
      return CLI_EXIT.ok;
    }),
  );
}

function fleetText(fleet: AdminResponse<'DescribeFleet'>): string {
  const { cells = [], namespaces = [], revision = 0 } = fleet;
  const active = (cell = '') => namespaces.filter((one) => one.active === cell).length;
  const copies = (cell = '') =>
    namespaces.filter((one) => one.replicas?.includes(cell)).length - active(cell);
  const rows = cells.map(({ id = '', region = '', address = '', shards = 0 }) => {
    return [id, region, address, String(shards), String(active(id)), String(copies(id))];
  });
  const moves = namespaces.flatMap(({ name = '', moves: all = [] }) =>
    all.filter(({ phase }) => phase !== 'finished').map((move) => `${name}: ${moveLine(move)}\n`),
  );
  const heading = ['CELL', 'REGION', 'ADDRESS', 'SHARDS', 'ACTIVE', 'COPIES'];
  const body = [table([heading, ...rows]), namespaceTable(namespaces), moves.join('')];
  return `fleet map revision ${revision}\n\n${body.filter((part) => part !== '').join('\n')}`;
}
