/**
 * What the newest forced failover cost, wherever it is kept: losses lie in the cell that acted when it heard of them, which may
 * have handed the namespace on since, and may keep no copy any more.
 *
 * Invariant: a cell that did not answer is named: what it keeps may be missing in the report.
 */
import type { Namespace } from '../../fleet/map.ts';
import { AtollError } from '../../kernel/errors.ts';
import type { LossReport } from '../../replication/losses/loss-report.ts';
import type { AdminRequest, AdminResponse, LostExecutionMessage } from '../../wire/atoll/admin.ts';
import type { Answer } from '../moves/facts.ts';
import { askCell, namespaceNamed } from './known.ts';
import type { AdminPorts } from './ports.ts';

export type CellReport = { readonly cell: string; readonly answer: Answer<LossReport> };

/** @throws AtollError `unavailable` when no cell answers; as `namespaceNamed` */
export async function getLossReport(
  ports: AdminPorts,
  request: AdminRequest<'GetLossReport'>,
): Promise<AdminResponse<'GetLossReport'>> {
  const namespace = await namespaceNamed(ports, request.namespace);
  const ask = { namespaceId: namespace.id };
  const reports = await Promise.all(
    keepersOf(namespace).map(async (cell): Promise<CellReport> => {
      const report = (signal: AbortSignal) => ports.cells.control(cell).lossReport(ask, signal);
      return { cell, answer: await askCell(ports, `cell ${cell}`, report) };
    }),
  );
  return { namespaceId: namespace.id, ...mergedReport(reports) };
}

/** The cells that may keep losses of the namespace, the active one first: all replicas, and who won by a failover. */
export function keepersOf({ placement, moves = [] }: Namespace): readonly string[] {
  const winners = moves.filter(({ kind }) => kind === 'failover').map(({ to }) => to);
  return [...new Set([placement.active, ...placement.replicas, ...winners])];
}

/**
 * What the cells keep of the newest failover that lost anything, by workflow id. Pure.
 * @throws AtollError `unavailable` when none of them answered
 */
export function mergedReport(
  reports: readonly CellReport[],
): Omit<AdminResponse<'GetLossReport'>, 'namespaceId'> {
  const unanswered: { readonly cell: string; readonly why: string }[] = [];
  const known: { readonly cell: string; readonly report: LossReport }[] = [];
  for (const { cell, answer } of reports) {
    if (answer.kind === 'answered') known.push({ cell, report: answer.value });
    else unanswered.push({ cell, why: answer.message });
  }
  if (known.length === 0) {
    const why = unanswered.map(({ cell, why: message }) => `${cell}: ${message}`).join('; ');
    throw new AtollError('unavailable', `No cell that may keep losses answers (${why}).`);
  }
  const epoch = Math.max(...known.map(({ report }) => report.epoch));
  // 0: a cell that could keep nothing does not know which failover it was.
  const newest = known.filter(({ report }) => report.epoch === epoch || report.epoch === 0);
  const executions = newest.flatMap(({ cell, report }) =>
    report.executions.map((one) => lostMessage(cell, one)),
  );
  executions.sort((a, b) => compare(a.workflowId, b.workflowId) || compare(a.runId, b.runId));
  const omitted = newest.reduce((sum, { report }) => sum + report.omitted, 0);
  return { epoch, executions, omitted, unanswered };
}

function lostMessage(
  cell: string,
  { transitions, ...rest }: LossReport['executions'][number],
): LostExecutionMessage {
  const { from: fromTransition, to: toTransition, epoch } = transitions;
  return { ...rest, fromTransition, toTransition, epoch, cell };
}

function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
