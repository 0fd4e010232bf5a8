/** The loss report as `atoll loss-report --json` prints it, as plain data again. */
import type { AdminResponse } from '../../wire/atoll/admin.ts';
import type { LossOutcome, LostExecution } from '../../cell/shard/replicas/loss.ts';
import type { LossReport } from '../../replication/losses/loss-report.ts';
import type { Fleet } from './fleet.ts';

type Printed = AdminResponse<'GetLossReport'>;
type PrintedExecution = NonNullable<Printed['executions']>[number];

export async function lossReportOf(
  fleet: Pick<Fleet, 'atoll'>,
  namespace: string,
): Promise<LossReport> {
  const { code, out, err } = await fleet.atoll(`loss-report ${namespace} --json`);
  if (code !== 0) throw new Error(`the loss report could not be read: ${err}`);
  const { namespaceId = '', epoch = 0, executions = [], omitted = 0 } = JSON.parse(out) as Printed;
  return { namespaceId, epoch, executions: executions.map(executionOf), omitted };
}

function executionOf(one: PrintedExecution): LostExecution {
  const { fromTransition: from = 0, toTransition: to = 0, epoch = 0 } = one;
  return {
    workflowId: one.workflowId ?? '',
    runId: one.runId ?? '',
    // The admin prints what the cell's own type allows.
    outcome: one.outcome as LossOutcome,
    transitions: { from, to, epoch },
    rolledBack: one.rolledBack ?? [],
    reapplied: one.reapplied ?? [],
    mayHaveRunTwice: one.mayHaveRunTwice ?? [],
  };
}
