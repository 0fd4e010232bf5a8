/**
 * Puts what another cell decided into a shard of this one (PROTOCOLS 7, 9): transitions in their order, runs as a whole,
 * each through the shard's own log.
 *
 * Place: shard-replicas.ts finds the owner and calls it for each thing that a lane brings.
 *
 * Invariants
 *  1. A transition is applied right after the one that it follows, by number and epoch; never over a gap.
 *  2. `applied` and `known` mean durable here (PROTOCOLS 7: applied is committed, before the ack).
 *  3. What cannot be folded is refused and changes nothing: it never stops the shard.
 *  4. Only the active cell applies inputs of a losing branch again (PROTOCOLS 9).
 */
import { orAbort } from '../../kernel/deadline.ts';
import { AtollError } from '../../kernel/errors.ts';
import { InvariantError, invariant } from '../../kernel/invariant.ts';
import type { Rng } from '../../kernel/rng.ts';
import { decodeEvents } from '../../wire/event-codec.ts';
import { sliceEvents } from '../../wire/event-scan.ts';
import { applyTransition } from '../history/history.ts';
import type { LedgerEntry } from '../history/execution.ts';
import { NO_LINEAGE, standingOf, standingOfBranch, type LineageItem } from '../history/lineage.ts';
import type { RunState } from '../history/state.ts';
import type { CachedExecution, CachedRun } from './cached.ts';
import type { RunRef } from './engine.ts';
import { holdsOrigin, lostInBranch, lostInTransition, type LostContent } from './losing-branch.ts';
import type { Batch } from './gather.ts';
import type { Ownership } from './ownership.ts';
import type { Adoption, EncodedStep } from './record-codec.ts';
import type { LossBook, LostPiece } from './loss-book.ts';
import type { LossOutcome } from './loss.ts';
import type { ApplyOutcome, ReplicatedStep, RunImage, LaneFeed } from './replicas.ts';
import type { RunSource } from './run-source.ts';
import { supersede } from './supersede.ts';

type Here = {
  readonly run: CachedRun | undefined;
  readonly execution: CachedExecution | undefined;
};

/** A piece of a losing branch. */
type Piece = Pick<LostPiece, 'ref' | 'transitions' | 'content'>;

/** Our branch of a run, and what it held. */
type Loser = {
  readonly head: RunState;
  readonly historyId: string;
  readonly content?: LostContent | undefined;
};

/** Looks again at most so often while memory is short. */
const MOST_LOADS = 20;

export class ReplicaWriter {
  readonly #ownership: Ownership;
  readonly #rng: Rng;
  readonly #losses: LossBook;
  readonly #source: RunSource;
  readonly #lanes: LaneFeed;

  constructor(
    ownership: Ownership,
    parts: {
      readonly rng: Rng;
      readonly losses: LossBook;
      readonly source: RunSource;
      readonly lanes: LaneFeed;
    },
  ) {
    this.#ownership = ownership;
    this.#rng = parts.rng;
    this.#source = parts.source;
    this.#lanes = parts.lanes;
    this.#losses = parts.losses;
  }

  /** One transition. Errors: `unavailable` when the shard is not owned any more or its store is away. */
  apply(step: ReplicatedStep, signal: AbortSignal): Promise<ApplyOutcome> {
    const { transition } = step;
    return this.#at(transition, signal, async (here): Promise<ApplyOutcome> => {
      const { run } = here;
      const standing = standingOf(run?.head.lineage ?? NO_LINEAGE, transition);
      switch (standing.kind) {
        case 'known':
          if (run?.pending) await orAbort(run.pending.committed, signal);
          return { kind: 'known' };
        case 'gap':
          return { kind: 'gap', have: run?.head.transition ?? 0 };
        case 'wins':
          return { kind: 'diverged' };
        case 'loses': {
          const { number, epoch } = transition;
          const transitions = { from: number, to: number, epoch };
          const content = lostInTransition(transition);
          return this.#lost(here, { ref: transition, transitions, content }, signal);
        }
        case 'next':
          return this.#append(step, here, signal);
      }
    });
  }

  /** A whole run, unless what is here wins or is the same. */
  adopt(image: RunImage, signal: AbortSignal): Promise<ApplyOutcome> {
    const { state } = image;
    return this.#at(state, signal, async (here): Promise<ApplyOutcome> => {
      const { run } = here;
      if (run?.pending) {
        // Steps of the run that are on their way go first: they may be what is missing.
        await orAbort(run.pending.committed, signal);
        return this.adopt(image, signal);
      }
      const standing = standingOfBranch(run?.head.lineage ?? NO_LINEAGE, state.lineage);
      switch (standing.kind) {
        case 'known':
          return { kind: 'known' };
        case 'loses': {
          const events = decodeEvents(eventsAfter(image, standing.ancestor.eventId));
          const { transition: to, epoch } = state;
          const transitions = { from: standing.ancestor.transition + 1, to, epoch };
          const content = lostInBranch(state, events);
          return this.#lost(here, { ref: state, transitions, content }, signal);
        }
        case 'continues': {
          this.#assertHeard(state);
          const adoption = this.#adoption(image, here, 'ours is older');
          await orAbort(this.#ownership.append({ adoption }).committed, signal);
          return { kind: 'applied' };
        }
        case 'wins':
          return this.#replace(image, { ancestor: standing.ancestor }, signal);
      }
    });
  }

  /**
   * Puts the image in the place of our branch, which lost. What the acting cell has not heard of it is not to be forgotten:
   * it hears first; or, if this is the acting cell, and no lane will bring it back as steps, it is settled here.
   */
  async #replace(
    image: RunImage,
    { ancestor, loser }: { readonly ancestor: LineageItem; readonly loser?: Loser | undefined },
    signal: AbortSignal,
  ): Promise<ApplyOutcome> {
    const { state } = image;
    const next = await this.#at(state, signal, (here): Loser | Batch | undefined => {
      this.#assertHeard(state);
      const { run } = here;
      if (!run || run.pending) return undefined;
      const { namespaceId } = state;
      const upTo = { namespaceId, seq: run.committedSeq };
      const delivery = this.#lanes.delivery(this.#ownership.shard, upTo);
      const acts = this.#acts(state);
      if (!acts && delivery !== 'done') throw stillToBeSent(state);
      const head = run.head;
      if (acts && delivery === 'runs' && loser?.head !== head) {
        return { head, historyId: run.branch.historyId };
      }
      return this.#ownership.append({ adoption: this.#adoption(image, here, 'ours lost') });
    });
    // Decided on meanwhile: looked at again.
    if (next === undefined) return this.adopt(image, signal);
    if ('head' in next) {
      const { head: own, historyId } = next;
      const whole = { state: own, historyId };
      const events = await this.#source.events(this.#ownership, whole, ancestor.eventId, signal);
      const content = lostInBranch(own, decodeEvents(Buffer.concat(events)));
      return this.#replace(image, { ancestor, loser: { ...next, content } }, signal);
    }
    await orAbort(next.committed, signal);
    if (loser?.content)
      await this.#settleOwn(loser.head, { ancestor, content: loser.content }, signal);
    return { kind: 'applied' };
  }

  /** Our own branch lost here, where this cell acts. */
  async #settleOwn(
    own: RunState,
    lost: { readonly ancestor: LineageItem; readonly content: LostContent },
    signal: AbortSignal,
  ): Promise<void> {
    const { ancestor, content } = lost;
    const { transition: to, epoch } = own;
    const transitions = { from: ancestor.transition + 1, to, epoch };
    await this.#at(own, signal, (here) =>
      this.#lost(here, { ref: own, transitions, content }, signal),
    );
  }

  /** Puts the image in the place of a damaged run that ends at the same transition. Errors: as `adopt`. */
  repair(image: RunImage, signal: AbortSignal): Promise<ApplyOutcome> {
    return this.#at(image.state, signal, async (here): Promise<ApplyOutcome> => {
      const isSame = here.run?.head.transition === image.state.transition && !here.run.pending;
      if (!isSame || this.#acts(image.state)) return { kind: 'known' };
      const adoption = this.#adoption(image, here, 'ours is damaged');
      await orAbort(this.#ownership.append({ adoption }).committed, signal);
      return { kind: 'applied' };
    });
  }

  async #append(step: ReplicatedStep, here: Here, signal: AbortSignal): Promise<ApplyOutcome> {
    const { transition } = step;
    this.#assertHeard(transition);
    const superseded = this.#isTaken(transition, here.execution);
    let encoded: EncodedStep;
    try {
      encoded = encodedStep(superseded ? withoutPointer(step) : step, here.run);
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error;
      return { kind: 'refused', reason: error.message };
    }
    if (here.run) here.run.start = undefined; // Its worker saw another history (PROTOCOLS 6).
    const batch = this.#ownership.append({ steps: [encoded] });
    const { number, epoch } = transition;
    const piece = {
      ref: transition,
      transitions: { from: number, to: number, epoch },
      content: lostInTransition(transition),
    };
    if (!superseded) {
      await orAbort(batch.committed, signal);
      const late = number === 1 && this.#acts(transition) && epoch < this.#wonBy(transition);
      if (late) this.#note(piece, 'adopted', []);
      return { kind: 'applied' };
    }
    const run = this.#ownership.memory.peekRun(transition);
    invariant(run !== undefined, 'a run that was just applied is in memory');
    const closing = supersede(run, this.#ownership);
    await orAbort((closing ?? batch).committed, signal);
    this.#note(piece, 'superseded', []);
    return { kind: 'lost' };
  }

  /** A cell that acts does not take what a newer epoch wrote before it has heard of that epoch, and stands by. */
  #assertHeard({
    namespaceId,
    epoch,
  }: {
    readonly namespaceId: string;
    readonly epoch: number;
  }): void {
    const known = this.#ownership.standing.epochOf(namespaceId);
    if (epoch <= known || !this.#ownership.standing.drives(namespaceId)) return;
    throw new AtollError(
      'unavailable',
      `namespace ${namespaceId} is active here in epoch ${known}, and epoch ${epoch} is not in the fleet map that this cell knows: try again`,
    );
  }

  /** Another run took the workflow id while this cell was active (PROTOCOLS 9). */
  #isTaken(
    ref: RunRef & { readonly number: number },
    execution: CachedExecution | undefined,
  ): boolean {
    if (ref.number > 1 || !execution || execution.current.runId === ref.runId) return false;
    return (
      this.#ownership.standing.drives(ref.namespaceId) && execution.current.closedAt === undefined
    );
  }

  #adoption(
    { state, events, current, ledger }: RunImage,
    { run, execution }: Here,
    why: 'ours is older' | 'ours lost' | 'ours is damaged',
  ): Adoption {
    const fresh = why !== 'ours is older';
    const known = fresh || !run ? 0 : run.head.nextEventId - 1;
    const all = Buffer.concat(events);
    const last = state.nextEventId - 1;
    const acts = this.#ownership.standing.drives(state.namespaceId);
    const points = !acts || !execution || execution.current.runId === state.runId;
    return {
      state,
      historyId: fresh ? this.#rng.uuid() : (run?.branch.historyId ?? state.runId),
      firstEventId: known + 1,
      events:
        known === 0 ? all : known < last ? sliceEvents(all, known + 1, last) : new Uint8Array(0),
      ...(points ? { current } : {}),
      ledger:
        why === 'ours is damaged'
          ? ledger
          : ledger.filter((entry) => !isSame(execution?.ledger.find(entry.requestId), entry)),
      forgotten: fresh ? takenByLoser(state.runId, ledger, execution) : [],
    };
  }

  /** Applies its inputs again and reports it, where this cell acts; elsewhere the acting cell does. */
  async #lost({ run }: Here, piece: Piece, signal: AbortSignal): Promise<ApplyOutcome> {
    const { ref, content } = piece;
    if (!run) return { kind: 'lost' };
    if (!this.#acts(ref)) return { kind: 'undecided' };
    const { lineage, closedAt } = run.head;
    if (closedAt !== undefined) {
      const outcome = content.inputs.length > 0 ? 'signal-undeliverable' : 'rolled-back';
      this.#note(piece, outcome, []);
      return { kind: 'lost' };
    }
    const reapplied: string[] = [];
    for (const { name, input } of content.inputs) {
      const id = 'requestId' in input ? input.requestId : '';
      if (holdsOrigin(lineage, ref.runId, id)) continue;
      const epoch = this.#ownership.standing.epochOf(ref.namespaceId);
      await this.#ownership.execute(run.ref, input, { signal, epoch });
      reapplied.push(name);
    }
    this.#note(piece, content.closes ? 'reopened' : 'rolled-back', reapplied);
    return { kind: 'lost' };
  }

  #acts({ namespaceId }: RunRef): boolean {
    return this.#ownership.standing.drives(namespaceId);
  }

  #wonBy({ namespaceId }: RunRef): number {
    return this.#ownership.standing.epochOf(namespaceId);
  }

  #note(piece: Piece, outcome: LossOutcome, reapplied: readonly string[]): void {
    this.#losses.note({ ...piece, outcome, reapplied, wonBy: this.#wonBy(piece.ref) });
  }

  /** What is here of the run and its workflow id, loaded if need be, and used in the same turn. */
  async #at<T>(ref: RunRef, signal: AbortSignal, use: (here: Here) => T | Promise<T>): Promise<T> {
    const { memory, log } = this.#ownership;
    await log.admit(signal);
    const missing = { execution: false, run: false };
    for (let loads = 0; loads < MOST_LOADS; loads += 1) {
      log.assertRoom();
      const execution = memory.peekExecution(ref);
      const run = memory.peekRun(ref);
      if (!execution && !missing.execution) {
        missing.execution = !(await memory.loadExecution(ref));
      } else if (!run && !missing.run) {
        missing.run = !(await memory.loadRun(ref));
      } else return use({ run, execution });
    }
    throw new AtollError(
      'resource-exhausted',
      `shard ${this.#ownership.shard} forgets runs as fast as it loads them (cachedRunLimit)`,
    );
  }
}

/** Folds a step over the run as it is; its events stay the bytes that its source stored. */
function encodedStep(
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

function withoutPointer(step: ReplicatedStep): ReplicatedStep {
  const { execution, ...rest } = step.transition;
  const ledger = execution?.ledger;
  return { ...step, transition: { ...rest, ...(ledger ? { execution: { ledger } } : {}) } };
}

function stillToBeSent({ runId }: RunState): AtollError {
  return new AtollError(
    'unavailable',
    `what this cell decided of run ${runId} lost, and is still on its way to the cell that acts: try again`,
  );
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

function eventsAfter({ events, state }: RunImage, eventId: number): Uint8Array {
  return sliceEvents(Buffer.concat(events), eventId + 1, state.nextEventId - 1);
}
