/** `atoll namespace create|update|describe|list`. */
import type { Command } from 'commander';
import { AtollError } from '../../kernel/errors.ts';
import type { NamespaceMessage } from '../../wire/atoll/admin.ts';
import { CLI_EXIT } from './exit.ts';
import type { CliPorts } from './ports.ts';
import {
  gather,
  runCommand,
  textOf,
  withCommonFlags,
  type Flags,
  type Session,
} from './session.ts';
import { moveLine } from './show-move.ts';
import { duration, pairs, parseDuration, table } from './text.ts';

export function addNamespaceCommands(program: Command, ports: CliPorts): void {
  const group = program.command('namespace').description('namespaces, and the cells they live in');
  const create = group.command('create <name>').description('registers a namespace');
  create
    .option('--region <region>', 'where it is active: a region, or a cell; default: anywhere')
    .option('--replica <region>', 'a region or cell that keeps a copy; may be repeated', gather)
    .option('--retention <time>', 'how long closed runs are kept, such as 3d', '3d')
    .option('--description <text>', 'what it is for')
    .option('--owner-email <email>', 'whom to ask')
    .option('--mode <mode>', 'available; fenced needs an etcd and is refused', 'available')
    .option('--max-lag <time>', 'the largest replication lag that is fine, such as 10s');
  withCommonFlags(
    create,
    'atoll namespace create orders --region region-1 --replica region-2 --retention 7d',
  ).action((name: string, flags: Flags) =>
    runCommand(ports, flags, (session) => createNamespace(session, name, flags)),
  );
  const update = group
    .command('update <name>')
    .description('changes a namespace; what is not named stays as it is');
  update
    .option('--replicas <cells>', UPDATE_REPLICAS)
    .option('--retention <time>', 'how long closed runs are kept, such as 3d')
    .option('--description <text>', 'what it is for')
    .option('--owner-email <email>', 'whom to ask')
    .option('--max-lag <time>', 'the largest replication lag that is fine, such as 10s');
  withCommonFlags(update, 'atoll namespace update orders --replicas a,b').action(
    (name: string, flags: Flags) =>
      runCommand(ports, flags, (session) => updateNamespace(session, name, flags)),
  );
  const describe = group.command('describe <name>').description('shows one namespace');
  withCommonFlags(describe, 'atoll namespace describe orders').action(
    (name: string, flags: Flags) =>
      runCommand(ports, flags, async ({ client, show }) => {
        const { namespace = {} } = await client.call('DescribeNamespace', { namespace: name });
        show(namespace, () => namespaceText(namespace));
        return CLI_EXIT.ok;
      }),
  );
  const list = group.command('list').description('shows all namespaces');
  withCommonFlags(list, 'atoll namespace list').action((flags: Flags) =>
    runCommand(ports, flags, async ({ client, show }) => {
      const { namespaces = [] } = await client.call('ListNamespaces', {});
      show(namespaces, () => namespaceTable(namespaces));
      return CLI_EXIT.ok;
    }),
  );
}

async function createNamespace(session: Session, name: string, flags: Flags) {
  const replicas = flags['replica'];
  const maxLag = textOf(flags['maxLag']);
  const { namespace = {} } = await session.client.call('CreateNamespace', {
    name,
    region: textOf(flags['region']),
    replicas: Array.isArray(replicas) ? (replicas as readonly string[]) : [],
    retentionMs: timeOf('--retention', textOf(flags['retention']) ?? '3d'),
    description: textOf(flags['description']),
    ownerEmail: textOf(flags['ownerEmail']),
    mode: textOf(flags['mode']),
    maxLagMs: maxLag === undefined ? undefined : timeOf('--max-lag', maxLag),
  });
  session.show(namespace, () => namespaceText(namespace));
  return CLI_EXIT.ok;
}

const UPDATE_REPLICAS =
  'the cells or regions that keep a copy, separated by commas; the active one always does: name it alone to keep no other';

async function updateNamespace(session: Session, name: string, flags: Flags) {
  const given = ['replicas', 'retention', 'description', 'ownerEmail', 'maxLag'];
  if (given.every((flag) => flags[flag] === undefined)) {
    throw new AtollError('invalid-argument', 'Say what shall change: --replicas, --retention, …');
  }
  const replicas =
    textOf(flags['replicas'])
      ?.split(',')
      .map((cell) => cell.trim()) ?? [];
  if (replicas.includes('')) {
    const message = '--replicas names an empty cell: write a,b; to keep no copy, the active cell.';
    throw new AtollError('invalid-argument', message);
  }
  const time = (flag: string, text: string | undefined) =>
    text === undefined ? undefined : timeOf(flag, text);
  const { namespace = {} } = await session.client.call('UpdateNamespace', {
    namespace: name,
    replicas,
    retentionMs: time('--retention', textOf(flags['retention'])),
    description: textOf(flags['description']),
    ownerEmail: textOf(flags['ownerEmail']),
    maxLagMs: time('--max-lag', textOf(flags['maxLag'])),
  });
  session.show(namespace, () => namespaceText(namespace));
  return CLI_EXIT.ok;
}

/** @throws AtollError `invalid-argument` naming the flag */
export function timeOf(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  const message = `${flag} ${text} is not a time: write 3d, 36h, 10m, 5s or 500ms.`;
  throw new AtollError('invalid-argument', message);
}

function namespaceText(one: NamespaceMessage): string {
  const own = pairs({
    namespace: one.name,
    id: one.id,
    description: one.description,
    owner: one.ownerEmail,
    state: one.state,
    'active cell': one.active,
    replicas: one.replicas?.join(', '),
    epoch: one.epoch,
    placement: one.placement,
    mode: one.mode,
    failover: one.policy,
    'maximum lag': one.maxLagMs === undefined ? undefined : duration(one.maxLagMs),
    retention: duration(one.retentionMs ?? 0),
  });
  return own + (one.moves ?? []).map((move) => `${moveLine(move)}\n`).join('');
}

export function namespaceTable(namespaces: readonly NamespaceMessage[]): string {
  const rows = namespaces.map((one) => [
    one.name ?? '',
    one.active ?? '',
    (one.replicas ?? []).filter((cell) => cell !== one.active).join(','),
    String(one.epoch ?? 0),
    one.placement ?? '',
    duration(one.retentionMs ?? 0),
  ]);
  return table([['NAMESPACE', 'ACTIVE', 'REPLICAS', 'EPOCH', 'STATE', 'RETENTION'], ...rows]);
}
