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
import type { Ownership } from './ownership.ts';
import { decodeRecord, type DecodedStep } from './record-codec.ts';

type ReplayStep = { readonly seq: Seq; readonly step: DecodedStep };

/** Loads what the tail touches and folds the tail over it, then arms its work. */
export async function replayTail(ownership: Ownership, rows: readonly LogRow[]): Promise<void> {
  const steps: ReplayStep[] = [];
  for (const { seq, record } of rows) {
    for (const step of decodeRecord(record)) steps.push({ seq, step });
  }
  const { memory, book } = ownership;
  await memory.holding(async () => {
    await Promise.all(
      steps.map(({ step: { transition } }) =>
        Promise.all([memory.loadExecution(transition), memory.loadRun(transition)]),
      ),
    );
    for (const { seq, step } of steps) replayStep(ownership, seq, step);
  });
  for (const run of book.dirtyRuns) ownership.syncWork(run);
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
