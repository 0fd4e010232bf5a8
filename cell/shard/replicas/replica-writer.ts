/**
 * Puts what another cell decided into a shard of this one (PROTOCOLS 7, 9): transitions in their order, runs as a whole,
 * each through the shard's own log.
 *
 * Place: shard-replicas.ts finds the owner and calls it for each thing that a lane brings; branch-settler.ts says what becomes
 * of what lost.
 *
 * Invariants
 *  1. A transition is applied right after the one that it follows, by number and epoch; never over a gap.
 *  2. `applied` and `known` mean durable here (PROTOCOLS 7: applied is committed, before the ack): a decision on a state that
 *     is on its way carries the promise that it waits for.
 *  3. What cannot be folded is refused and changes nothing: it never stops the shard.
 */
import { orAbort } from '../../../kernel/deadline.ts';
import { AtollError, toAtollError } from '../../../kernel/errors.ts';
import { InvariantError } from '../../../kernel/invariant.ts';
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
import { BranchSettler, type Piece } from './branch-settler.ts';
import { idsUpTo, lostInBranch, lostInTransition } from './losing-branch.ts';
import type { Batch } from '../log/gather.ts';
import type { Ownership } from '../ownership.ts';
import type { Adoption, EncodedStep } from '../log/record-codec.ts';
import type { LossBook } from './loss-book.ts';
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
import type { StaleCaches } from '../runs/stale-caches.ts';
import { ReplicaLook } from './replica-look.ts';

/** What became of a step. It may be told once `durable` has resolved; `whenDurable` is to be done then. */
export type Taken = {
  readonly outcome: ApplyOutcome;
  readonly durable?: Promise<void> | undefined;
  readonly whenDurable?: () => Promise<void>;
};

/** Our branch of a run, and what it held. */
type Loser = {
  readonly head: RunState;
  readonly historyId: string;
  /** What it has in common with what wins. */
  readonly ancestor: LineageItem;
  /** Of its workflow id. */
  readonly ledger: readonly LedgerEntry[];
  /** What the report says of it already. */
  readonly told?: { readonly piece: Piece; readonly outcome: LossOutcome } | undefined;
};

export class ReplicaWriter {
  readonly #ownership: Ownership;
  readonly #rng: Rng;
  readonly #source: RunSource;
  readonly #lanes: LaneFeed;
  readonly #look: ReplicaLook;
  readonly #settler: BranchSettler;

  constructor(
    ownership: Ownership,
    parts: {
      readonly rng: Rng;
      readonly losses: LossBook;
      readonly staleCaches: Pick<StaleCaches, 'doubt'>;
      readonly source: RunSource;
      readonly lanes: LaneFeed;
    },
  ) {
    this.#ownership = ownership;
    this.#rng = parts.rng;
    this.#source = parts.source;
    this.#lanes = parts.lanes;
    this.#look = new ReplicaLook(ownership);
    const { losses, staleCaches } = parts;
    this.#settler = new BranchSettler(ownership, { losses, staleCaches, look: this.#look });
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
        const lost = this.#settler.lost(here, pieceOf(transition, run?.head), signal);
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
          const content = lostInBranch(
            image,
            events,
            idsUpTo(standing.ancestor.eventId, run?.head),
          );
          return this.#settler.lost(here, { ref: state, transitions, content }, signal);
        }
        case 'continues': {
          this.#assertHeard(state);
          const adoption = this.#adoption(image, here, 'ours is older');
          await orAbort(this.#ownership.append({ adoption }).committed, signal);
          return run ? { kind: 'applied' } : this.#settler.cameWhole(state, signal);
        }
        case 'wins':
          return this.#replace(image, signal);
      }
    });
  }

  /**
   * Puts the image in the place of our branch, which lost. What the acting cell has not heard of it is not to be forgotten:
   * it hears first; or, if this is the acting cell, and no lane will bring it back as steps, it is settled here.
   */
  async #replace(image: RunImage, signal: AbortSignal, loser?: Loser): Promise<ApplyOutcome> {
    const { state } = image;
    const next = await this.#look.at(
      { ref: state, pointed: pointedBy(image) },
      signal,
      (here): Loser | Batch | undefined => {
        this.#assertHeard(state);
        const { run } = here;
        if (!run || run.pending) return undefined;
        // Held anew against what is here now: the same image may have come twice, and the run may have gone on from it.
        const standing = standingOfBranch(run.head.lineage, state.lineage);
        if (standing.kind !== 'wins') return undefined;
        const { namespaceId, runId } = state;
        const upTo = { namespaceId, runId, seq: run.committedSeq };
        const delivery = this.#lanes.delivery(this.#ownership.shard, upTo);
        const acts = this.#acts(state);
        if (!acts && delivery !== 'done') throw stillToBeSent(state);
        if (acts && delivery !== 'done' && !isSameBranch(loser, run)) {
          const ledger = here.execution?.ledger.entries() ?? [];
          const { ancestor } = standing;
          return { head: run.head, historyId: run.branch.historyId, ancestor, ledger };
        }
        return this.#ownership.append({ adoption: this.#adoption(image, here, 'ours lost') });
      },
    );
    // Decided on meanwhile: looked at again.
    if (next === undefined) return this.adopt(image, signal);
    if ('head' in next) {
      const { head: own, historyId, ancestor } = next;
      const whole = { state: own, historyId };
      const events = await this.#source.events(this.#ownership, whole, ancestor.eventId, signal);
      const { transition: to, epoch } = own;
      const transitions = { from: ancestor.transition + 1, to, epoch };
      const branch = { state: own, ledger: next.ledger };
      const idOf = idsUpTo(ancestor.eventId, state);
      const content = lostInBranch(branch, decodeEvents(Buffer.concat(events)), idOf);
      const piece = { ref: own, transitions, content };
      const outcome = await this.#settler.foretell(piece, image, signal);
      return this.#replace(image, signal, { ...next, told: { piece, outcome } });
    }
    await orAbort(this.#settleOwn(next, loser), signal);
    return { kind: 'applied' };
  }

  /** Goes on where its caller has left: from here on nobody else knows what our branch held. */
  async #settleOwn(gaveWay: Batch, loser: Loser | undefined): Promise<void> {
    await gaveWay.committed;
    if (!loser?.told) return;
    const { piece, outcome } = loser.told;
    const { signal } = new AbortController(); // Ends with the ownership.
    await this.#settler.lostOwn(piece, outcome, signal);
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
    if (isTaken) {
      return this.#settler.supersede(pieceOf(transition), signal).then((outcome) => ({ outcome }));
    }
    const outcome = { kind: 'applied' } as const;
    const late = transition.number === 1 && this.#settler.isLate(transition);
    if (!late) return { outcome, durable: batch.committed };
    const whenDurable = () => this.#settler.adopted(pieceOf(transition));
    return { outcome, durable: batch.committed, whenDurable };
  }

  /** A cell that acts does not take what a newer epoch wrote before it has heard of that epoch, and stands by. */
  #assertHeard({ namespaceId, epoch }: Pick<RunState, 'namespaceId' | 'epoch'>): void {
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

  #acts({ namespaceId }: RunRef): boolean {
    return this.#ownership.standing.drives(namespaceId);
  }
}

/** What a single transition held, of a branch that another one may have won against. */
function pieceOf(transition: Transition, winner?: RunState): Piece {
  const { number, epoch } = transition;
  const shared = winner?.lineage.find((item) => item.epoch === epoch)?.eventId ?? 0;
  const content = lostInTransition(transition, idsUpTo(shared, winner));
  const transitions = { from: number, to: number, epoch };
  return { ref: transition, transitions, content };
}

/** By what it says, for memory may have forgotten the run and read it again meanwhile. */
function isSameBranch(loser: Loser | undefined, { head, branch }: CachedRun): boolean {
  return (
    loser?.historyId === branch.historyId &&
    loser.head.transition === head.transition &&
    loser.head.epoch === head.epoch
  );
}
