/** `atoll failover`: shows what may be lost, asks, and switches; `atoll loss-report`: what was lost. */
import type { Command } from 'commander';
import type { AdminResponse } from '../../wire/atoll/admin.ts';
import { estimateText } from './estimate-text.ts';
import { CLI_EXIT, type CliExit } from './exit.ts';
import type { CliPorts } from './ports.ts';
import { runCommand, textOf, withCommonFlags, type Flags, type Session } from './session.ts';
import { table } from './text.ts';
import { waitForMove } from './wait-for-move.ts';

export function addFailoverCommands(program: Command, ports: CliPorts): void {
  const failover = program
    .command('failover <namespace>')
    .description('makes a replica active although the active cell is dead: writes may be lost')
    .option('--to <cell>', 'the replica; default: the only other one')
    .option('--force', 'do not ask: for scripts, which must look at the estimate themselves')
    .option('--incomplete', 'also to a replica that never had a whole copy')
    .option('--reason <text>', 'kept with the failover');
  withCommonFlags(failover, 'atoll failover orders --to b').action(
    (namespace: string, flags: Flags) =>
      runCommand(ports, flags, (session) => failOver(session, namespace, flags)),
  );
  const report = program
    .command('loss-report <namespace>')
    .description('what the last failover rolled back, applied again, or may have run twice');
  withCommonFlags(report, 'atoll loss-report orders --json').action(
    (namespace: string, flags: Flags) =>
      runCommand(ports, flags, async ({ client, show }) => {
        const lost = await client.call('GetLossReport', { namespace });
        // Empty lists are left out on the way; a script looks for them.
        const all = { executions: [], omitted: 0, unanswered: [], ...lost };
        show(all, () => lossText(namespace, lost));
        return CLI_EXIT.ok;
      }),
  );
}

async function failOver(session: Session, namespace: string, flags: Flags): Promise<CliExit> {
  const { client, ports } = session;
  const [force, incomplete] = [flags['force'] === true, flags['incomplete'] === true];
  const estimate = await client.call('EstimateLoss', { namespace, to: textOf(flags['to']) });
  ports.err(session.json ? `${JSON.stringify(estimate)}\n` : estimateText(namespace, estimate));
  if (!incomplete && estimate.refusal !== undefined && estimate.refusal !== '') {
    ports.err(`Nothing was changed. ${estimate.refusal}\n`);
    return CLI_EXIT.failed;
  }
  if (!force && (ports.ask === undefined || session.json)) {
    const message =
      'Nothing was changed: nobody can be asked here. --force does it without asking.';
    ports.err(`${message}\n`);
    return CLI_EXIT.usage;
  }
  if (!force && !(await agreed(ports, namespace))) {
    ports.err('Nothing was changed.\n');
    return CLI_EXIT.failed;
  }
  const { to, epoch } = estimate;
  const reason = textOf(flags['reason']);
  const asked = { namespace, to, epoch, reason, incomplete };
  const { move = {} } = await client.call('FailOver', asked);
  return waitForMove(session, { namespace, moveId: move.id ?? '' });
}

async function agreed(ports: CliPorts, namespace: string): Promise<boolean> {
  const answer = await ports.ask?.(`Fail ${namespace} over? [y/N] `);
  return ['y', 'yes'].includes((answer ?? '').trim().toLowerCase());
}

function lossText(namespace: string, report: AdminResponse<'GetLossReport'>): string {
  const { executions = [], omitted = 0, epoch = 0, unanswered = [] } = report;
  const missing = unanswered
    .map(
      ({ cell = '', why = '' }) => `${cell} did not answer: what it keeps is not here (${why})\n`,
    )
    .join('');
  if (executions.length === 0 && omitted === 0) {
    return `Nothing is reported lost of ${namespace}.\n${missing}`;
  }
  const rows = executions.map((one) => [
    one.workflowId ?? '',
    one.runId ?? '',
    one.outcome ?? '',
    (one.rolledBack ?? []).join(' '),
    (one.reapplied ?? []).join(' '),
    (one.mayHaveRunTwice ?? []).join(' '),
  ]);
  const heading = ['WORKFLOW', 'RUN', 'OUTCOME', 'ROLLED BACK', 'APPLIED AGAIN', 'MAY RUN TWICE'];
  const more = omitted > 0 ? `and ${omitted} more executions\n` : '';
  return `epoch ${epoch} won\n${table([heading, ...rows])}${more}${missing}`;
}
