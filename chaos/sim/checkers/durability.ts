/** P1: nothing that was acknowledged is missing at the end, except what a promoted standby lost with its rows. */
import type { Evidence } from '../evidence.ts';
import type { AckedCompletion, AckedWrite } from '../journal.ts';
import type { Check, Tally } from '../tally.ts';

export function checkDurability(evidence: Evidence, tally: Tally<Check>): string[] {
  const writes = evidence.journal.writes.flatMap((write) => {
    tally.add('P1 acknowledged requests');
    const missing = missingWrite(evidence, write);
    return missing ? [missing] : [];
  });
  const completions = evidence.journal.completions.flatMap((completion) => {
    tally.add('P1 acknowledged completions');
    return isThere(evidence, completion) ? [] : [describeLoss(completion)];
  });
  return [...writes, ...completions];
}

function missingWrite({ chronicle, histories }: Evidence, write: AckedWrite): string | undefined {
  const { kind, runId, requestId, workflowId, ackedMs } = write;
  const history = histories.get(runId);
  const when = `acknowledged at ${ackedMs.toFixed(1)}`;
  if (kind === 'start') {
    if (chronicle.lostMarks.has(requestId) || history) return undefined;
    return `P1: start ${requestId} of ${workflowId}, ${when} as run ${runId}, is missing`;
  }
  const mark = kind === 'signal' ? `signal ${runId} ${requestId}` : `${kind} ${runId}`;
  if (chronicle.lostMarks.has(mark) || chronicle.lostMarks.has(requestId)) return undefined;
  if (!history && chronicle.lostRuns.has(runId)) return undefined;
  const times = history?.marks.get(mark) ?? 0;
  return times > 0 ? undefined : `P1: ${mark} of ${workflowId}, ${when}, is missing`;
}

function isThere({ chronicle, histories }: Evidence, completion: AckedCompletion): boolean {
  const { runId } = completion;
  const mark = markOf(completion);
  const { lostMarks, lostRuns } = chronicle;
  if (lostMarks.has(mark) || lostMarks.has(`activity ${runId} any`)) return true;
  const history = histories.get(runId);
  if (!history) return lostRuns.has(runId);
  return (history.marks.get(mark) ?? 0) > 0;
}

function markOf({ kind, runId, eventId, activityId }: AckedCompletion): string {
  return kind === 'activity'
    ? `activity ${runId} ${activityId}`
    : `workflow-task ${runId} ${eventId}`;
}

function describeLoss(completion: AckedCompletion): string {
  const when = `acknowledged at ${completion.ackedMs.toFixed(1)}`;
  return `P1: ${markOf(completion)} of ${completion.workflowId}, ${when}, is missing`;
}
