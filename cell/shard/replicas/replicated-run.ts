/**
 * What another cell sent, made into what a shard's log takes: a step folded over the run as it is, a run as an adoption
 * (PROTOCOLS 7, 9). replica-writer.ts decides which, and appends it.
 *
 * Invariant: events stay the bytes that their source stored.
 */
import { sliceEvents } from '../../../wire/event-scan.ts';
import { applyTransition } from '../../history/history.ts';
import { currentRun } from '../../history/draft.ts';
import {
  endedWith,
  isOlderPointer,
  isSameEntry,
  isSaidByEnd,
  singly,
  type CurrentRun,
  type LedgerEntry,
} from '../../history/execution.ts';
import type { RunState } from '../../history/state.ts';
import type { CachedExecution, CachedRun } from '../runs/cached.ts';
import type { RunRef } from '../engine.ts';
import type { Adoption, EncodedStep } from '../log/record-codec.ts';
import type { ReplicatedStep, RunImage } from './replicas.ts';

/** What a shard has of a run and its workflow id. */
export type Here = {
  readonly run: CachedRun | undefined;
  readonly execution: CachedExecution | undefined;
  /** The other run that was asked for, as it was when it was looked at. */
  readonly pointed?: RunState | undefined;
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
  const { ledger = [] } = execution ?? {};
  const kept = ledger.length > 0 ? { execution: { ledger } } : {};
  return { ...step, transition: { ...rest, ...kept } };
}

/**
 * A step after which the id points at a run that ended: the step points at another one as open, of which the end is known here
 * already; or it ends the one that the id is known to point at, and what it says of the id itself is older or nothing.
 */
export function withEnd(step: EncodedStep, { execution: here, pointed }: Here): EncodedStep {
  const { execution } = step.transition;
  const { current } = execution ?? {};
  const known = here && endedWith(here.current, step.state);
  const ended =
    known && (!current || isOlderPointer(current, known))
      ? known
      : current && pointed && endedWith(current, pointed);
  if (!ended) return step;
  return {
    ...step,
    transition: { ...step.transition, execution: { ...execution, current: ended } },
  };
}

/** The other run that the step points its workflow id at, if it does. */
export function pointedByStep({ transition }: ReplicatedStep): RunRef | undefined {
  const { namespaceId, workflowId, runId, execution } = transition;
  const pointed = execution?.current?.runId ?? runId;
  return pointed === runId ? undefined : { namespaceId, workflowId, runId: pointed };
}

/** The other run that the image points at, if it does. The pointer counts once that is here: it may never come. */
export function pointedBy({ state, current }: RunImage): RunRef | undefined {
  const { namespaceId, workflowId, runId } = state;
  return current.runId === runId ? undefined : { namespaceId, workflowId, runId: current.runId };
}

/** The run whole, in the place of what is here. */
export function adoptionOf(
  image: RunImage,
  here: Here,
  how: { readonly why: AdoptionReason; readonly acts: boolean; readonly freshId: string },
): Adoption {
  const { run, execution } = here;
  const { state, events } = image;
  const { why, acts, freshId } = how;
  const fresh = why !== 'ours is older';
  const known = fresh || !run ? 0 : run.head.nextEventId - 1;
  const all = Buffer.concat(events);
  const last = state.nextEventId - 1;
  const pointer = pointerOf(image, here, { why, acts });
  return {
    state,
    historyId: fresh ? freshId : (run?.branch.historyId ?? state.runId),
    firstEventId: known + 1,
    events:
      known === 0 ? all : known < last ? sliceEvents(all, known + 1, last) : new Uint8Array(0),
    ...(pointer ? { current: pointer } : {}),
    ...requestsOf(image, fresh ? run?.head : undefined, execution),
  };
}

/**
 * What the image brings of requests, and those which the branch of this run that loses had taken, or given away, and the other
 * one not or otherwise: repeated, they are new; or again those of whoever took them beside it.
 */
function requestsOf(
  { state, ledger }: RunImage,
  loser: RunState | undefined,
  execution: CachedExecution | undefined,
): Pick<Adoption, 'ledger' | 'forgotten'> {
  const sent = new Map(ledger.map((entry) => [entry.requestId, entry]));
  const isLost = (entry: LedgerEntry) =>
    loser !== undefined && isSaidBy(loser, entry) && !knows(sent.get(entry.requestId), entry);
  const known = (execution?.ledger.entries() ?? []).map(singly);
  const lessened = known.filter((entries) => entries.some(isLost));
  const left = lessened.flat().filter((entry) => !isLost(entry));
  const forgotten = new Set(lessened.flat().map(({ requestId }) => requestId));
  // Requests of other runs come with their own branches, of which the one here may be another.
  const news = ledger
    .flatMap(singly)
    .filter((entry) => isSaidBy(state, entry))
    .filter(
      (entry) =>
        forgotten.has(entry.requestId) || !knows(execution?.ledger.find(entry.requestId), entry),
    );
  return { ledger: [...left, ...news], forgotten: [...forgotten] };
}

/** Whether the run took the request, or gave it away with its end. That it took it may be said by the end of another run. */
function isSaidBy(run: RunState, entry: LedgerEntry): boolean {
  if (entry.by !== undefined && entry.by !== run.runId) return false;
  return entry.runId === run.runId || isSaidByEnd(run, entry);
}

function knows(known: LedgerEntry | undefined, entry: LedgerEntry): boolean {
  return known !== undefined && singly(known).some((one) => isSameEntry(one, entry));
}

/** Where the workflow id points once the image is here; undefined: where it does. */
function pointerOf(
  image: RunImage,
  { run, execution, pointed }: Here,
  { why, acts }: { readonly why: AdoptionReason; readonly acts: boolean },
): CurrentRun | undefined {
  const { state } = image;
  const current = pointedBy(image)
    ? pointed && (endedWith(image.current, pointed) ?? image.current)
    : image.current;
  // An id points somewhere: here until a pointer of any epoch comes.
  if (!execution) return current ?? { ...currentRun(state), epoch: 0 };
  const known = execution.current;
  const ended = endedWith(known, state);
  if (!current) return ended;
  // Our branch had set it so, and is gone: perhaps the run is open again.
  const isOwn = known.runId === state.runId && current.runId === state.runId;
  if (isOwn && why === 'ours lost') return current;
  const kept = ended ?? known;
  // Or given the id back to another run, with an end that is gone: unless this cell runs that one.
  const isGiven = why === 'ours lost' && run !== undefined && isGivenBy(run.head, known);
  if (isGiven && !(acts && kept.closedAt === undefined)) return current;
  const stays = acts ? staysPointed(kept, current) : isOlderPointer(current, kept);
  return stays ? ended : current;
}

/** Whether the end of that branch gave the id back to another run, and it is there still. */
function isGivenBy(
  { runId, epoch, closedAt }: RunState,
  { by, epoch: given }: CurrentRun,
): boolean {
  return closedAt !== undefined && by === runId && given === epoch;
}

/** Whether the id goes on pointing where it does in a cell that acts: to the run that it runs, or to the newer one. */
export function staysPointed(known: CurrentRun, incoming: CurrentRun): boolean {
  const isOther = known.runId !== incoming.runId;
  return (isOther && known.closedAt === undefined) || isOlderPointer(incoming, known);
}

/** The image's events behind that one. */
export function eventsAfter({ events, state }: RunImage, eventId: number): Uint8Array {
  return sliceEvents(Buffer.concat(events), eventId + 1, state.nextEventId - 1);
}
