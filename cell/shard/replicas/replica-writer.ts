/**
 * Puts what another cell decided into a shard of this one (PROTOCOLS 7, 9): transitions in their order, runs as a whole,
 * each through the shard's own log.
 *
 * Place: shard-replicas.ts finds the owner and calls it for each thing that a lane brings.
 *
 * Invariants
 *  1. A transition is applied right after the one that it follows, by number and epoch; never over a gap.
 *  2. `applied` and `known` mean durable here (PROTOCOLS 7: applied is committed, before the ack): a decision on a state that
 *     is on its way carries the promise that it waits for.
 *  3. What cannot be folded is refused and changes nothing: it never stops the shard.
 *  4. Only the active cell applies inputs of a losing branch again (PROTOCOLS 9).
 */
import { orAbort } from '../../../kernel/deadline.ts';
import { AtollError, toAtollError } from '../../../kernel/errors.ts';
import { InvariantError, invariant } from '../../../kernel/invariant.ts';
import type { Rng } from '../../../kernel/rng.ts';
import { decodeEvents } from '../../../wire/event-codec.ts';
import {
  NO_LINEAGE,
  standingOf,
  standingOfBranch,
  type LineageItem,
} from '../../history/lineage.ts';
import type { LedgerEntry } from '../../history/execution.ts';
import type { RunState } from '../../history/state.ts';
import type { Transition } from '../../history/transition.ts';
import type { CachedRun } from '../runs/cached.ts';
import type { RunRef } from '../engine.ts';
import {
  lostInBranch,
  lostInTransition,
  NOTHING_LOST,
  unheardOf,
  unsettled,
} from './losing-branch.ts';
import type { Batch } from '../log/gather.ts';
import type { Ownership } from '../ownership.ts';
import type { Adoption, EncodedStep } from '../log/record-codec.ts';
import type { LossBook, LostPiece } from './loss-book.ts';
import type { LossOutcome } from './loss.ts';
import type { ApplyOutcome, ReplicatedStep, LaneFeed, RunImage } from './replicas.ts';
import {
  adoptionOf,
  encodedStep,
  eventsAfter,
  pointedBy,
  pointedByStep,
  staysPointed,
  withEnd,
  withoutPointer,
  type AdoptionReason,
  type Here,
} from './replicated-run.ts';
import { stillToBeSent } from '../refusals.ts';
import type { RunSource } from '../runs/run-source.ts';
import { ReplicaLook } from './replica-look.ts';
import { isStray } from './supersede.ts';

/** What became of a step. It may be told once `durable` has resolved; `whenDurable` is to be done then. */
export type Taken = {
  readonly outcome: ApplyOutcome;
  readonly durable?: Promise<void> | undefined;
  readonly whenDurable?: () => Promise<void>;
};

/** A piece of a losing branch. */
type Piece = Pick<LostPiece, 'ref' | 'transitions' | 'content'>;

/** Our branch of a run, and what it held. */
type Loser = {
  readonly head: RunState;
  readonly historyId: string;
  /** Of its workflow id. */
  readonly ledger: readonly LedgerEntry[];
  readonly piece?: Piece | undefined;
};

export class ReplicaWriter {
  readonly #ownership: Ownership;
  readonly #rng: Rng;
  readonly #losses: LossBook;
  readonly #source: RunSource;
  readonly #lanes: LaneFeed;
  readonly #look: ReplicaLook;

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
    this.#look = new ReplicaLook(ownership);
  }

  /**
   * Transitions of one workflow id, in their order, each decided on the one before it; what has not to be waited for is
   * decided in one turn, and so appended together. Errors: `unavailable` when the shard is not owned any more or its
   * store is away; then nothing is known of any of them.
   */
  async take(steps: readonly ReplicatedStep[], signal: AbortSignal): Promise<readonly Taken[]> {
    const taken: Taken[] = [];
    for (let step = steps[0]; step; step = steps[taken.length]) {
      try {
        const { transition } = step;
        const look = { ref: transition, pointed: pointedByStep(step) };
        const waited = await this.#look.at(look, signal, (here) =>
          this.#turn(steps, { taken, here }, signal),
        );
        if (waited) taken.push(waited);
      } catch (thrown) {
        const error = toAtollError(thrown);
        if (error.code !== 'data-loss' && error.code !== 'invalid-argument') throw error;
        taken.push({ outcome: { kind: 'refused', reason: error.message } });
      }
    }
    return taken;
  }

  /** Takes what can be decided in this turn: until the end, a load, or a step that has to be waited for. */
  #turn(
    steps: readonly ReplicatedStep[],
    { taken, here }: { readonly taken: Taken[]; readonly here: Here },
    signal: AbortSignal,
  ): Promise<Taken> | undefined {
    let known: Here | undefined = here;
    for (let step = steps[taken.length]; step && known; step = steps[taken.length]) {
      const one = this.#decide(step, known, signal);
      if (one instanceof Promise) return one;
      taken.push(one);
      const next = steps[taken.length];
      known = next && !pointedByStep(next) ? this.#look.atHand(next.transition) : undefined;
    }
    return undefined;
  }

  #decide(step: ReplicatedStep, here: Here, signal: AbortSignal): Taken | Promise<Taken> {
    const { transition } = step;
    const { run } = here;
    const durable = run?.pending?.committed;
    const standing = standingOf(run?.head.lineage ?? NO_LINEAGE, transition);
    switch (standing.kind) {
      case 'known':
        return { outcome: { kind: 'known' }, durable };
      case 'gap':
        return { outcome: { kind: 'gap', have: run?.head.transition ?? 0 }, durable };
      case 'wins':
        return { outcome: { kind: 'diverged' }, durable };
      case 'loses': {
        const { number, epoch } = transition;
        const transitions = { from: number, to: number, epoch };
        const content = lostInTransition(transition);
        const lost = this.#lost(here, { ref: transition, transitions, content }, signal);
        return lost.then((outcome) => ({ outcome }));
      }
      case 'next':
        return this.#append(step, here, signal);
    }
  }

  /** A whole run, unless what is here wins or is the same. */
  adopt(image: RunImage, signal: AbortSignal): Promise<ApplyOutcome> {
    const { state } = image;
    const pointed = pointedBy(image);
    return this.#look.at({ ref: state, pointed }, signal, async (here): Promise<ApplyOutcome> => {
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
          const content = lostInBranch(state, events, image.ledger);
          return this.#lost(here, { ref: state, transitions, content }, signal);
        }
        case 'continues': {
          this.#assertHeard(state);
          const adoption = this.#adoption(image, here, 'ours is older');
          await orAbort(this.#ownership.append({ adoption }).committed, signal);
          return run ? { kind: 'applied' } : this.#reportNew(image, signal);
        }
        case 'wins':
          return this.#replace(image, { ancestor: standing.ancestor }, signal);
      }
    });
  }

  /** A run that only another cell knew came whole. Where this one acts it goes on, or ends if its id was taken since. */
  async #reportNew({ state }: RunImage, signal: AbortSignal): Promise<ApplyOutcome> {
    const { transition: to, epoch } = state;
    const late = this.#acts(state) && epoch < this.#wonBy(state);
    const run = this.#ownership.memory.peekRun(state);
    if (!late || !run) return { kind: 'applied' };
    const piece = { ref: run.ref, transitions: { from: 1, to, epoch }, content: NOTHING_LOST };
    const { memory } = this.#ownership;
    if (isStray(run, memory.pointerOf(state))) return this.#supersede(piece, signal);
    await orAbort(this.#note(piece, 'adopted'), signal);
    return { kind: 'applied' };
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
    const next = await this.#look.at(
      { ref: state, pointed: pointedBy(image) },
      signal,
      (here): Loser | Batch | undefined => {
        this.#assertHeard(state);
        const { run } = here;
        if (!run || run.pending) return undefined;
        const { namespaceId, runId } = state;
        const upTo = { namespaceId, runId, seq: run.committedSeq };
        const delivery = this.#lanes.delivery(this.#ownership.shard, upTo);
        const acts = this.#acts(state);
        if (!acts && delivery !== 'done') throw stillToBeSent(state);
        if (acts && delivery !== 'done' && !isSameBranch(loser, run)) {
          const ledger = here.execution?.ledger.entries() ?? [];
          return { head: run.head, historyId: run.branch.historyId, ledger };
        }
        return this.#ownership.append({ adoption: this.#adoption(image, here, 'ours lost') });
      },
    );
    // Decided on meanwhile: looked at again.
    if (next === undefined) return this.adopt(image, signal);
    if ('head' in next) {
      const { head: own, historyId } = next;
      const whole = { state: own, historyId };
      const events = await this.#source.events(this.#ownership, whole, ancestor.eventId, signal);
      const { transition: to, epoch } = own;
      const transitions = { from: ancestor.transition + 1, to, epoch };
      const content = lostInBranch(own, decodeEvents(Buffer.concat(events)), next.ledger);
      const piece = { ref: own, transitions, content };
      // Once it has given way this process alone knows what it held: what comes of that if it dies is kept first.
      await orAbort(this.#note(piece, unsettled(content.inputs), { foretold: true }), signal);
      return this.#replace(image, { ancestor, loser: { ...next, piece } }, signal);
    }
    await orAbort(next.committed, signal);
    if (loser?.piece) await this.#settleOwn(loser.piece, signal);
    return { kind: 'applied' };
  }

  /** Our own branch lost here, where this cell acts. */
  async #settleOwn(piece: Piece, signal: AbortSignal): Promise<void> {
    let outcome: ApplyOutcome | undefined;
    try {
      outcome = await this.#look.at(piece, signal, (here) => this.#lost(here, piece, signal));
    } finally {
      // It does not act any more, and no other cell knows what its branch held: that is to be reported at least.
      if (outcome?.kind !== 'lost') await this.#note(piece, unsettled(piece.content.inputs));
    }
  }

  #append(step: ReplicatedStep, here: Here, signal: AbortSignal): Taken | Promise<Taken> {
    const { transition } = step;
    this.#assertHeard(transition);
    const isTaken = this.#isTaken(transition, here);
    let encoded: EncodedStep;
    try {
      encoded = isTaken
        ? encodedStep(withoutPointer(step), here.run)
        : withEnd(encodedStep(step, here.run), here);
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error;
      return { outcome: { kind: 'refused', reason: error.message } };
    }
    if (here.run) here.run.start = undefined; // Its worker saw another history (PROTOCOLS 6).
    const batch = this.#ownership.append({ steps: [encoded] });
    const { number, epoch } = transition;
    const piece = {
      ref: transition,
      transitions: { from: number, to: number, epoch },
      content: lostInTransition(transition),
    };
    if (isTaken) return this.#supersede(piece, signal).then((outcome) => ({ outcome }));
    const outcome = { kind: 'applied' } as const;
    const late = number === 1 && this.#acts(transition) && epoch < this.#wonBy(transition);
    if (!late) return { outcome, durable: batch.committed };
    const whenDurable = () => this.#note(piece, 'adopted');
    return { outcome, durable: batch.committed, whenDurable };
  }

  /** A run that is here, and whose id is taken. */
  async #supersede(piece: Piece, signal: AbortSignal): Promise<ApplyOutcome> {
    const run = this.#ownership.memory.peekRun(piece.ref);
    invariant(run !== undefined, 'a run that was just applied is in memory');
    await orAbort(this.#note(piece, 'superseded'), signal);
    await this.#ownership.supersede(run, signal);
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

  /** Another run took the workflow id since, and this cell acts (PROTOCOLS 9). */
  #isTaken(transition: Transition, { run, execution }: Here): boolean {
    const incoming = transition.execution?.current;
    if (run || !execution || !incoming || !this.#acts(transition)) return false;
    return staysPointed(execution.current, incoming);
  }

  #adoption(image: RunImage, here: Here, why: AdoptionReason): Adoption {
    return adoptionOf(image, here, {
      why,
      acts: this.#acts(image.state),
      freshId: this.#rng.uuid(),
    });
  }

  /** Applies its inputs again and reports it, where this cell acts; elsewhere the acting cell does. */
  async #lost({ run, execution }: Here, piece: Piece, signal: AbortSignal): Promise<ApplyOutcome> {
    const { ref, content } = piece;
    if (!run) return { kind: 'lost' };
    if (!this.#acts(ref)) return { kind: 'undecided' };
    if (isStray(run, execution?.current)) return this.#supersede(piece, signal);
    if (run.head.closedAt !== undefined) {
      const inputs = unheardOf(content.inputs, run.head, execution?.ledger);
      if (run.pending) await orAbort(run.pending.committed, signal); // What it took may be on its way.
      await orAbort(this.#note(piece, unsettled(inputs)), signal);
      return { kind: 'lost' };
    }
    const reapplied: string[] = [];
    for (const { name, input } of unheardOf(content.inputs, run.head)) {
      const epoch = this.#ownership.standing.epochOf(ref.namespaceId);
      await this.#ownership.execute(run.ref, input, { signal, epoch });
      reapplied.push(name);
    }
    const outcome = content.closes ? 'reopened' : 'rolled-back';
    await orAbort(this.#note(piece, outcome, { reapplied }), signal);
    return { kind: 'lost' };
  }

  #acts({ namespaceId }: RunRef): boolean {
    return this.#ownership.standing.drives(namespaceId);
  }

  #wonBy({ namespaceId }: RunRef): number {
    return this.#ownership.standing.epochOf(namespaceId);
  }

  #note(
    piece: Piece,
    outcome: LossOutcome,
    more: Partial<Pick<LostPiece, 'reapplied' | 'foretold'>> = {},
  ): Promise<void> {
    return this.#losses.note({
      reapplied: [],
      ...piece,
      ...more,
      outcome,
      wonBy: this.#wonBy(piece.ref),
    });
  }
}

/** By what it says, for memory may have forgotten the run and read it again meanwhile. */
function isSameBranch(loser: Loser | undefined, { head, branch }: CachedRun): boolean {
  return (
    loser?.historyId === branch.historyId &&
    loser.head.transition === head.transition &&
    loser.head.epoch === head.epoch
  );
}
