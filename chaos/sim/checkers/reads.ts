/**
 * P13: a read that began after a write was acknowledged shows it; and reads never go back. P1: no read shows what is not
 * stored when it is heard. Writes are placed by the transition that took them, reads by the number of transitions and events
 * that they showed.
 */
import type { Evidence } from '../evidence.ts';
import type { SeenNothing, SeenRun, SeenSignals } from '../journal.ts';
import type { Check, Tally } from '../tally.ts';

/** What every later read of a run must at least show. */
type Floor = { readonly atMs: number; readonly number: number; readonly why: string };

export function checkReads(evidence: Evidence, tally: Tally<Check>): string[] {
  const floors = floorsOf(evidence);
  const { journal, chronicle } = evidence;
  const cut = (runId: string) => chronicle.lostRuns.has(runId);
  return [
    ...journal.runs
      .filter(({ runId }) => !cut(runId))
      .flatMap((seen) => {
        tally.add('P13 reads of runs');
        return staleRead(evidence, floors.get(seen.runId) ?? [], seen);
      }),
    ...journal.queries
      .filter(({ runId }) => !cut(runId))
      .flatMap((seen) => {
        tally.add('P13 queries');
        return staleQuery(evidence, seen);
      }),
    ...journal.nothing
      .filter(({ runId }) => !cut(runId))
      .flatMap((seen) => {
        tally.add('P13 not found');
        return staleNothing(evidence, seen);
      }),
  ];
}

function floorsOf({ journal, chronicle }: Evidence): Map<string, Floor[]> {
  const floors = new Map<string, Floor[]>();
  const add = (runId: string, floor: Floor) =>
    void floors.set(runId, [...(floors.get(runId) ?? []), floor]);
  for (const { kind, requestId, runId, ackedMs } of journal.writes) {
    const run = chronicle.runs.get(runId);
    const taken = chronicle.requests.get(requestId);
    const number = kind === 'terminate' ? run?.state.transition : (taken?.number ?? 1);
    if (number !== undefined) add(runId, { atMs: ackedMs, number, why: `${kind} ${requestId}` });
  }
  for (const { runId, by, transitions, endedMs } of journal.runs) {
    if (transitions === undefined) continue;
    add(runId, { atMs: endedMs, number: transitions, why: `an earlier ${by}` });
  }
  return floors;
}

function staleRead({ chronicle }: Evidence, floors: readonly Floor[], seen: SeenRun): string[] {
  const run = chronicle.runs.get(seen.runId);
  if (!run)
    return [`P13: ${seen.by} showed run ${seen.runId} of ${seen.workflowId}, which never was`];
  const shown =
    seen.transitions === undefined
      ? run.moments.find(({ lastEventId }) => lastEventId >= seen.events)
      : run.moments[seen.transitions - 1];
  if (!shown || shown.atMs > seen.endedMs) {
    const { by, workflowId, endedMs, transitions, events } = seen;
    const what = transitions === undefined ? `event ${events}` : `transition ${transitions}`;
    const when = `at ${endedMs.toFixed(1)}, before it was stored`;
    return [`P1: ${by} of ${workflowId} showed ${what} ${when}`];
  }
  for (const { atMs, number, why } of floors) {
    if (atMs > seen.begunMs) continue;
    const events = run.moments[number - 1]?.lastEventId ?? 0;
    const isStale =
      seen.transitions === undefined ? seen.events < events : seen.transitions < number;
    if (isStale) return [describeStale(seen, `${seen.by} showed ${seen.events} events`, why)];
  }
  return [];
}

function staleQuery({ journal, chronicle }: Evidence, seen: SeenSignals): string[] {
  const early = seen.signals.find((signal) => {
    const taken = chronicle.requests.get(signal);
    const moment = taken && chronicle.runs.get(taken.runId)?.moments[taken.number - 1];
    return !moment || moment.atMs > seen.endedMs;
  });
  if (early !== undefined) {
    const when = `at ${seen.endedMs.toFixed(1)}, before it was stored`;
    return [`P1: a query of ${seen.workflowId} saw signal ${early} ${when}`];
  }
  const missing = journal.writes.find(
    ({ kind, runId, requestId, ackedMs }) =>
      kind === 'signal' &&
      runId === seen.runId &&
      ackedMs <= seen.begunMs &&
      chronicle.requests.has(requestId) &&
      !seen.signals.includes(requestId),
  );
  return missing
    ? [
        describeStale(
          seen,
          `a query saw ${seen.signals.length} signals`,
          `signal ${missing.requestId}`,
        ),
      ]
    : [];
}

/** "Not found" is true of a read only before the run's start, of a write also after the run's end. */
function staleNothing({ chronicle, journal }: Evidence, seen: SeenNothing): string[] {
  const run = chronicle.runs.get(seen.runId);
  const started = journal.writes.some(
    ({ kind, runId, ackedMs }) =>
      kind === 'start' && runId === seen.runId && ackedMs <= seen.begunMs,
  );
  if (!run || !started) return [];
  if (!seen.isRead && run.closedMs !== undefined && run.closedMs <= seen.endedMs) return [];
  return [describeStale(seen, `${seen.by} was told not-found`, 'its start')];
}

function describeStale(
  seen: { readonly workflowId: string; readonly begunMs: number; readonly endedMs: number },
  what: string,
  why: string,
): string {
  const { workflowId, begunMs, endedMs } = seen;
  const span = `${begunMs.toFixed(1)} to ${endedMs.toFixed(1)}`;
  return `P13: ${what} of ${workflowId} (${span}), although ${why} had been acknowledged`;
}
