/**
 * From a takeover to a working ownership (PROTOCOLS 2.4): replay the tail over the views, then arm its work. What the
 * views hold besides is read page by page behind the first calls (view-reader.ts).
 *
 * Invariants
 *  1. Replay skips records at or below the seq that a view row reflects.
 *  2. Work is armed from committed states only; arming twice is harmless.
 */
import { applyTransition } from '../history/history.ts';
import type { LogRow, Seq } from '../storage/shard-log.ts';
import { isDamage } from './damage.ts';
import type { Ownership } from './ownership.ts';
import { beside } from './runs/run-book.ts';
import { decodeRecord, type Adoption, type DecodedStep, type Removal } from './log/record-codec.ts';

type ReplayStep = { readonly seq: Seq; readonly step: DecodedStep };
type ReplayAdoption = { readonly seq: Seq; readonly adoption: Adoption };
type Replay = ReplayStep | ReplayAdoption | { readonly removal: Removal };

/** Loads what the tail touches and folds the tail over it, then arms its work. */
export async function replayTail(ownership: Ownership, rows: readonly LogRow[]): Promise<void> {
  const replays: Replay[] = [];
  const { memory, book } = ownership;
  const { marks } = ownership.standing;
  for (const { seq, record } of rows) {
    const { steps, adoptions, removals, marks: made } = decodeRecord(record);
    for (const step of steps) replays.push({ seq, step });
    for (const adoption of adoptions) replays.push({ seq, adoption });
    for (const removal of removals) replays.push({ removal });
    for (const mark of made) marks.replayed(mark);
  }
  await memory.holding(async () => {
    await Promise.all(replays.map((replay) => loadFor(replay, ownership)));
    for (const replay of replays) {
      if ('step' in replay) replayStep(ownership, replay.seq, replay.step);
      else if ('adoption' in replay) replayAdoption(ownership, replay);
      else book.removed(replay.removal);
    }
  });
  for (const run of book.dirtyRuns) ownership.work.sync(run);
}

/** What a repair replaces or removes need not be readable: that may be why it was. */
async function loadFor(replay: Replay, { memory }: Ownership): Promise<void> {
  if ('step' in replay) {
    const { transition } = replay.step;
    await Promise.all([memory.loadExecution(transition), memory.loadRun(transition)]);
    return;
  }
  const ref = 'adoption' in replay ? replay.adoption.state : replay.removal;
  const loaded = await Promise.allSettled([memory.loadExecution(ref), memory.loadRun(ref)]);
  for (const one of loaded) {
    if (one.status === 'rejected' && !isDamage(one.reason)) throw one.reason;
  }
}

function replayAdoption(ownership: Ownership, { seq, adoption }: ReplayAdoption): void {
  const { memory, book } = ownership;
  const { state } = adoption;
  const run = memory.peekRun(state);
  if (!run || seq > run.viewSeq) book.replayedAdoption(adoption, seq);
  const execution = memory.peekExecution(state);
  const change = beside(adoption);
  if (change && (!execution || seq > execution.viewSeq)) book.replayedExecution(state, change);
  ownership.sawRecordAt(state.lastAt);
}

function replayStep(ownership: Ownership, seq: Seq, step: DecodedStep): void {
  const { memory, book } = ownership;
  const { transition } = step;
  const run = memory.peekRun(transition);
  if (!run || seq > run.viewSeq) {
    const folded = applyTransition(run?.head, transition);
    const state = { ...folded, historyBytes: folded.historyBytes + step.events.length };
    book.replayed({ ...step, state }, seq);
  }
  const execution = memory.peekExecution(transition);
  if (transition.execution && (!execution || seq > execution.viewSeq)) {
    book.replayedExecution(transition, transition.execution);
  }
  ownership.sawRecordAt(transition.at);
}
