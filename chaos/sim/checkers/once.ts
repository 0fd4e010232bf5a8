/**
 * P3 and P4: one open run an id, each transition once, histories without gaps, requests de-duplicated, activities of one
 * attempt started at most once. Runs that a promoted standby has cut are not judged on what came twice.
 */
import type { Evidence } from '../evidence.ts';
import type { Check, Tally } from '../tally.ts';

export function checkOnce(evidence: Evidence, tally: Tally<Check>): string[] {
  const { chronicle } = evidence;
  tally.add('P3 runs', chronicle.runs.size);
  tally.add('P4 transitions', chronicle.transitions);
  return [
    ...chronicle.breaches,
    ...checkHistories(evidence),
    ...checkRequests(evidence, tally),
    ...checkActivities(evidence, tally),
  ];
}

function checkHistories({ histories }: Evidence): string[] {
  return [...histories.values()].flatMap(({ workflowId, runId, events, marks }) => {
    const gap = events.find(({ eventId }, index) => eventId !== index + 1);
    const twice = [...marks].find(([mark, times]) => mark.startsWith('signal ') && times > 1);
    const breaches: string[] = [];
    if (gap)
      breaches.push(
        `P4: the history of ${workflowId} ${runId} has event ${gap.eventId} out of place`,
      );
    if (twice)
      breaches.push(`P4: ${twice[0]} of ${workflowId} is in the history ${twice[1]} times`);
    return breaches;
  });
}

function checkRequests({ journal, chronicle }: Evidence, tally: Tally<Check>): string[] {
  const first = new Map<string, string>();
  return journal.writes.flatMap(({ kind, requestId, runId }) => {
    const before = first.get(requestId);
    first.set(requestId, runId);
    if (kind !== 'start' || before === undefined) return [];
    tally.add('P4 repeated requests');
    if (before === runId || chronicle.lostMarks.has(requestId)) return [];
    return [`P4: request ${requestId} was answered with run ${before} and with run ${runId}`];
  });
}

function checkActivities({ journal, ledger, chronicle }: Evidence, tally: Tally<Check>): string[] {
  const seen = new Map<string, number>();
  for (const { runId, activityId } of journal.deliveries) {
    if (chronicle.lostRuns.has(runId)) continue;
    const name = `${activityId} of run ${runId}`;
    seen.set(name, (seen.get(name) ?? 0) + 1);
  }
  tally.add('P4 activities of one attempt', seen.size);
  const moves = new Map<string, number>();
  for (const { kind, runId, activityId } of ledger) {
    if (kind !== 'capture' && kind !== 'refund') continue;
    if (chronicle.lostRuns.has(runId)) continue;
    const name = `${activityId} of run ${runId}`;
    moves.set(name, (moves.get(name) ?? 0) + 1);
  }
  return [
    ...more(seen).map((name) => `P4: ${name} has one attempt and reached workers twice`),
    ...more(moves).map((name) => `P4: ${name} has one attempt and moved money twice`),
  ];
}

function more(counts: ReadonlyMap<string, number>): string[] {
  return [...counts].filter(([, count]) => count > 1).map(([name]) => name);
}
