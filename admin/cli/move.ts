/** `atoll move plan|start|status|verify|confirm|abort|back`. */
import type { Command } from 'commander';
import type { AdminResponse, MoveMessage } from '../../wire/atoll/admin.ts';
import { CLI_EXIT, type CliExit } from './exit.ts';
import { timeOf } from './namespace.ts';
import type { CliPorts } from './ports.ts';
import { runCommand, textOf, withCommonFlags, type Flags, type Session } from './session.ts';
import { laneLine, moveDetails, moveLine } from './show-move.ts';
import { duration, pairs } from './text.ts';
import { waitForMove, whatNext } from './wait-for-move.ts';

type Run = (session: Session, namespace: string, flags: Flags) => Promise<CliExit>;

export function addMoveCommands(program: Command, ports: CliPorts): void {
  const group = program.command('move').description('planned moves between cells: no call fails');
  const add = (name: string, meaning: string, of: { run: Run; example: string; flags: object }) => {
    const command = group.command(`${name} <namespace>`).description(meaning);
    for (const [flag, text] of Object.entries(of.flags)) command.option(flag, String(text));
    withCommonFlags(command, of.example).action((namespace: string, flags: Flags) =>
      runCommand(ports, flags, (session) => of.run(session, namespace, flags)),
    );
  };
  const move = { '--move <id>': 'the move; default: the newest' };
  const wait = { '--wait': 'wait for its end, and show how it gets on' };
  const pause = {
    '--max-pause <time>':
      'roll back if calls are held for longer before the switch: 100ms to 9s, default 5s',
  };
  const to = { '--to <cell>': 'the cell to move to' };
  add('plan', 'says what a move would meet, and changes nothing', {
    run: plan,
    example: 'atoll move plan orders --to b',
    flags: to,
  });
  add('start', 'starts a move', {
    run: start,
    example: 'atoll move start orders --to b --wait',
    flags: { ...to, ...wait, ...pause, '--confirm': 'confirm by itself once it has moved' },
  });
  add('status', 'shows a move and its lanes', {
    run: status,
    example: 'atoll move status orders --wait',
    flags: { ...move, ...wait },
  });
  add('verify', 'compares every execution with a replica', {
    run: verify,
    example: 'atoll move verify orders --against b --repair',
    flags: {
      '--against <cell>': 'default: the replica',
      '--stored':
        'read all that is stored, in both cells, instead of what they keep of it; --repair does too',
      '--repair': 'repair what differs',
    },
  });
  add('confirm', 'ends a move that has moved', {
    run: (session, namespace, flags) => act(session, 'ConfirmMove', { namespace, flags }),
    example: 'atoll move confirm orders',
    flags: move,
  });
  add('abort', 'gives a move up before it is switched: all is as before', {
    run: (session, namespace, flags) => act(session, 'AbortMove', { namespace, flags }),
    example: 'atoll move abort orders --reason "wrong cell"',
    flags: { ...move, ...wait, '--reason <text>': 'kept with the move' },
  });
  add('back', 'switches an unconfirmed move back, by a move of its own', {
    run: (session, namespace, flags) => act(session, 'BackMove', { namespace, flags }),
    example: 'atoll move back orders --wait',
    flags: { ...move, ...wait, ...pause },
  });
}

const plan: Run = async ({ client, show }, namespace, flags) => {
  const answer = await client.call('PlanMove', { namespace, to: textOf(flags['to']) });
  show(answer, () => planText(namespace, answer));
  return (answer.blockers ?? []).length === 0 ? CLI_EXIT.ok : CLI_EXIT.blocked;
};

function planText(namespace: string, plan: AdminResponse<'PlanMove'>): string {
  const { from, to, lane, blockers = [], notes = [], predictedPauseMs = 0 } = plan;
  const blocked = blockers.map(({ code, says }) => `BLOCKED (${code}): ${says}\n`).join('');
  const noted = notes.map(({ says }) => `first: ${says}\n`).join('');
  const head = pairs({
    namespace,
    from,
    to,
    'calls would be held for': `about ${duration(predictedPauseMs)}; those with a longer deadline do not fail`,
  });
  const next = blockers.length === 0 ? `Start it: atoll move start ${namespace} --to ${to}\n` : '';
  return head + (lane === undefined ? '' : laneLine(lane)) + noted + blocked + next;
}

const start: Run = async (session, namespace, flags) => {
  const { move = {} } = await session.client.call('StartMove', {
    namespace,
    to: textOf(flags['to']),
    maxPauseMs: pauseOf(flags),
    autoConfirm: flags['confirm'] === true,
  });
  return shown(session, { namespace, move, flags });
};

const status: Run = async (session, namespace, flags) => {
  const moveId = textOf(flags['move']) ?? '';
  const answer = await session.client.call('DescribeMove', { namespace, moveId });
  const { move = {} } = answer;
  if (flags['wait'] === true) return waitForMove(session, { namespace, moveId: move.id ?? '' });
  session.show(answer, () => moveDetails(answer) + whatNext(namespace, move));
  return CLI_EXIT.ok;
};

const verify: Run = async ({ client, show }, namespace, flags) => {
  const against = textOf(flags['against']);
  const repair = flags['repair'] === true;
  const stored = flags['stored'] === true;
  const report = await client.call('VerifyNamespace', { namespace, against, repair, stored });
  show(report, () => verifyText(report));
  const { differences = 0, repaired = 0 } = report;
  return differences - repaired <= 0 ? CLI_EXIT.ok : CLI_EXIT.failed;
};

function verifyText(report: AdminResponse<'VerifyNamespace'>): string {
  const { different = [], differences = 0, moving = 0, repaired = 0 } = report;
  const head = `${report.source} against ${report.against}: ${report.compared ?? 0} compared, ${report.equal ?? 0} equal, ${differences} differ, ${repaired} repaired, ${moving} change all the while\n`;
  const rows = different.map(({ workflowId = '', runId = '', what = '', why = '' }) => {
    const reason = why === '' ? '' : ` (not repaired: ${why})`;
    return `  ${workflowId} ${runId}: ${what}${reason}\n`;
  });
  const more = differences > different.length ? `  … ${differences - different.length} more\n` : '';
  return head + rows.join('') + more;
}

async function act(
  session: Session,
  call: 'ConfirmMove' | 'AbortMove' | 'BackMove',
  { namespace, flags }: { readonly namespace: string; readonly flags: Flags },
): Promise<CliExit> {
  const { move = {} } = await session.client.call(call, {
    namespace,
    moveId: textOf(flags['move']),
    ...(call === 'AbortMove' ? { reason: textOf(flags['reason']) } : {}),
    ...(call === 'BackMove' ? { maxPauseMs: pauseOf(flags) } : {}),
  });
  const code = await shown(session, { namespace, move, flags });
  // What was asked for is that it be as before.
  return call === 'AbortMove' && code === CLI_EXIT.asBefore ? CLI_EXIT.ok : code;
}

async function shown(
  session: Session,
  of: { readonly namespace: string; readonly move: MoveMessage; readonly flags: Flags },
): Promise<CliExit> {
  const { namespace, move, flags } = of;
  if (flags['wait'] === true) return waitForMove(session, { namespace, moveId: move.id ?? '' });
  const see = `See how it gets on: atoll move status ${namespace} --wait\n`;
  session.show(move, () => `${moveLine(move)}\n${move.phase === 'finished' ? '' : see}`);
  return CLI_EXIT.ok;
}

function pauseOf(flags: Flags): number | undefined {
  const text = textOf(flags['maxPause']);
  return text === undefined ? undefined : timeOf('--max-pause', text);
}
