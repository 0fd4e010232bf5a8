/**
 * Judges a fleet as if it were one cell, by the branch of each run that lasted: what checkers of one cell say of it holds
 * for a fleet, too, but for what a forced failover takes away.
 */
import { checkAnswered } from '../checkers/answered.ts';
import { checkDurability } from '../checkers/durability.ts';
import { checkEnds } from '../checkers/ends.ts';
import { checkOnce } from '../checkers/once.ts';
import { checkReads } from '../checkers/reads.ts';
import { checkTasks } from '../checkers/tasks.ts';
import { anonymousOf } from '../client.ts';
import type { ReadHistory } from '../evidence.ts';
import type { Check, Tally } from '../tally.ts';
import type { FleetEvidence } from './checkers.ts';

/** As in one cell, by the branch that lasted; runs that were closed as superseded ended for no reason of their own. */
export function judgeAsOneCell(evidence: FleetEvidence, tally: Tally<Check>): readonly string[] {
  const superseded = new Set(
    evidence.losses
      .filter(({ execution }) => execution.outcome === 'superseded')
      .map(({ execution }) => execution.runId),
  );
  const histories = new Map([...evidence.histories].filter(([runId]) => !superseded.has(runId)));
  for (const requestId of takenApart(evidence)) evidence.chronicle.lostMarks.add(requestId);
  return [
    ...checkOnce({ ...evidence, histories: withoutRepeats(evidence) }, tally),
    ...checkAnswered(evidence, tally),
    ...checkDurability(evidence, tally),
    // A failover that is forced takes acknowledged writes away, for a while at least.
    ...(evidence.forced.size === 0
      ? [...checkReads(evidence, tally), ...checkTasks(evidence, tally)]
      : []),
    ...checkEnds({ ...evidence, histories }, tally),
  ];
}

/** Starts that two cells took, the later one before it had the run of the other: of those each made a run. */
function takenApart({ journal, chronicle, forced }: FleetEvidence): readonly string[] {
  if (forced.size === 0) return [];
  const runIds = new Map<string, Set<string>>();
  for (const { kind, requestId, runId } of journal.writes) {
    if (kind !== 'start') continue;
    runIds.set(requestId, (runIds.get(requestId) ?? new Set()).add(runId));
  }
  return [...runIds].flatMap(([requestId, ids]) => {
    const runs = [...ids]
      .flatMap((runId) => chronicle.runs.get(runId) ?? [])
      .sort((x, y) => (x.moments[0]?.atMs ?? 0) - (y.moments[0]?.atMs ?? 0));
    const knew = runs.some((run, index) =>
      runs.slice(0, index).some((before) => chronicle.knewAtStart(run, before)),
    );
    return runs.length > 1 && !knew ? [requestId] : [];
  });
}

/** A signal without a request id may be in a history as often as a cell was handed it: not more often, where branches gave way. */
function withoutRepeats({ handed, histories, orders }: FleetEvidence): Map<string, ReadHistory> {
  const anonymous = anonymousOf(orders);
  const capped = [...histories].map(([runId, history]) => {
    const marks = new Map(history.marks);
    for (const id of anonymous) {
      const mark = `signal ${runId} ${id}`;
      const times = marks.get(mark) ?? 0;
      if (times > 1 && times <= (handed.get(id) ?? 0)) marks.set(mark, 1);
    }
    return [runId, { ...history, marks }] as const;
  });
  return new Map(capped);
}
