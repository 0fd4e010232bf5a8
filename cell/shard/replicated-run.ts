/**
 * What another cell sent, made into what a shard's log takes: a step folded over the run as it is, a run as an adoption
 * (PROTOCOLS 7, 9). Pure; replica-writer.ts decides which, and appends it.
 *
 * Invariant: events stay the bytes that their source stored.
 */
import { sliceEvents } from '../../wire/event-scan.ts';
import { applyTransition } from '../history/history.ts';
import type { LedgerEntry } from '../history/execution.ts';
import type { CachedExecution, CachedRun } from './cached.ts';
import type { Adoption, EncodedStep } from './record-codec.ts';
import type { ReplicatedStep, RunImage } from './replicas.ts';

/** What a shard has of a run and its workflow id. */
export type Here = {
  readonly run: CachedRun | undefined;
  readonly execution: CachedExecution | undefined;
};

export type AdoptionReason = 'ours is older' | 'ours lost';

/** Folds a step over the run as it is. @throws InvariantError where it does not fit */
export function encodedStep(
  { transition, events }: ReplicatedStep,
  run: CachedRun | undefined,
): EncodedStep {
  const folded = applyTransition(run?.head, transition);
  const ids = transition.changes.flatMap((change) => ('eventId' in change ? [change.eventId] : []));
  return {
    transition,
    state: { ...folded, historyBytes: folded.historyBytes + events.length },
    events,
    firstEventId: ids[0] ?? 0,
    lastEventId: ids.at(-1) ?? 0,
  };
}

/** A step that leaves the workflow id pointing where it points. */
export function withoutPointer(step: ReplicatedStep): ReplicatedStep {
  const { execution, ...rest } = step.transition;
  const ledger = execution?.ledger;
  return { ...step, transition: { ...rest, ...(ledger ? { execution: { ledger } } : {}) } };
}

/** The run whole, in the place of what is here. */
export function adoptionOf(
  { state, events, current, ledger }: RunImage,
  { run, execution }: Here,
  how: { readonly why: AdoptionReason; readonly acts: boolean; readonly freshId: string },
): Adoption {
  const { why, acts, freshId } = how;
  const fresh = why !== 'ours is older';
  const known = fresh || !run ? 0 : run.head.nextEventId - 1;
  const all = Buffer.concat(events);
  const last = state.nextEventId - 1;
  const points = !acts || !execution || execution.current.runId === state.runId;
  return {
    state,
    historyId: fresh ? freshId : (run?.branch.historyId ?? state.runId),
    firstEventId: known + 1,
    events:
      known === 0 ? all : known < last ? sliceEvents(all, known + 1, last) : new Uint8Array(0),
    ...(points ? { current } : {}),
    ledger: ledger.filter((entry) => !isSame(execution?.ledger.find(entry.requestId), entry)),
    forgotten: fresh ? takenByLoser(state.runId, ledger, execution) : [],
  };
}

/** Requests that only the branch of this run which loses had taken: repeated, they are new. */
function takenByLoser(
  runId: string,
  ledger: readonly LedgerEntry[],
  execution: CachedExecution | undefined,
): readonly string[] {
  const kept = new Set(ledger.map(({ requestId }) => requestId));
  return (execution?.ledger.entries() ?? [])
    .filter((entry) => entry.runId === runId && !kept.has(entry.requestId))
    .map(({ requestId }) => requestId);
}

function isSame(known: LedgerEntry | undefined, entry: LedgerEntry): boolean {
  return known?.runId === entry.runId && known.kind === entry.kind && known.at === entry.at;
}

/** The image's events behind that one. */
export function eventsAfter({ events, state }: RunImage, eventId: number): Uint8Array {
  return sliceEvents(Buffer.concat(events), eventId + 1, state.nextEventId - 1);
}
