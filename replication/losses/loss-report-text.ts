/** The loss report as Markdown: for people who have to tell their customers. */
import type { LossOutcome, LostExecution } from '../../cell/shard/replicas/loss.ts';
import type { LossReport } from './loss-report.ts';

const HEADINGS: Readonly<Record<LossOutcome, string>> = {
  'rolled-back': 'Rolled back: the last steps of these executions did not survive',
  adopted: 'Adopted: known to the lost cell alone, they go on',
  superseded: 'Superseded: their workflow id was taken again, they were closed',
  reopened: 'Reopened: closed in the lost cell, they go on',
  'signal-undeliverable':
    'Signals that these executions could not take: they are closed here, or full',
};
const ORDER: readonly LossOutcome[] = [
  'rolled-back',
  'reopened',
  'superseded',
  'signal-undeliverable',
  'adopted',
];

export function lossReportText(report: LossReport): string {
  const { namespaceId, epoch, executions, omitted } = report;
  const lines = [
    `# Loss report of namespace ${namespaceId}, epoch ${epoch}`,
    '',
    executions.length === 0 && omitted === 0
      ? 'Nothing was lost.'
      : `${count(executions.length + omitted, 'execution')} affected.`,
  ];
  for (const outcome of ORDER) {
    const of = executions.filter((one) => one.outcome === outcome);
    if (of.length > 0)
      lines.push('', `## ${HEADINGS[outcome]} (${of.length})`, '', ...of.flatMap(item));
  }
  if (omitted > 0) lines.push('', `${count(omitted, 'execution')} more are not listed.`);
  return `${lines.join('\n')}\n`;
}

function item(one: LostExecution): string[] {
  const { from, to, epoch } = one.transitions;
  const steps = from === to ? `step ${from}` : `steps ${from} to ${to}`;
  return [
    `- ${code(one.workflowId)}, run ${code(one.runId)}: ${steps} of epoch ${epoch}`,
    ...detail('rolled back', one.rolledBack),
    ...detail('applied again', one.reapplied),
    ...detail('may have run twice', one.mayHaveRunTwice),
  ];
}

function detail(what: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`  - ${what}: ${names.map(code).join(', ')}`];
}

function count(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}

/** Ids are anybody's text: a run of backticks longer than any inside keeps them what they are. */
function code(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ');
  const longest = Math.max(0, ...(flat.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${flat}${fence}` : `${fence} ${flat} ${fence}`;
}
