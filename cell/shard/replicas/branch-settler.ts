/**
 * What becomes of a branch of a run that lost, and of a run that its acting cell hears of too late (PROTOCOLS 9): what came from
 * outside is applied once more, a run whose workflow id was taken since ends, and the loss report hears of all of it.
 *
 * Place: replica-writer.ts puts into the log what lanes bring, and calls it for what lost by its lineage; losing-branch.ts says
 * what a branch held.
 *
 * Invariants
 *  1. Only the active cell settles a branch: elsewhere the answer is `undecided`.
 *  2. A report says what is durable here, or what a death of this process would leave of it.
 */
import { orAbort } from '../../../kernel/deadline.ts';
import { AtollError } from '../../../kernel/errors.ts';
import { invariant } from '../../../kernel/invariant.ts';
import type { RunState } from '../../history/state.ts';
import type { RunRef } from '../engine.ts';
import type { Ownership } from '../ownership.ts';
import type { StaleCaches } from '../runs/stale-caches.ts';
import { NOTHING_LOST, unheardOf, unsettled } from './losing-branch.ts';
import type { LossBook, LostPiece } from './loss-book.ts';
import type { LossOutcome } from './loss.ts';
import type { ReplicaLook } from './replica-look.ts';
import type { Here } from './replicated-run.ts';
import type { ApplyOutcome, RunImage } from './replicas.ts';
import { isStray } from './supersede.ts';

/** A piece of a losing branch. */
export type Piece = Pick<LostPiece, 'ref' | 'transitions' | 'content'>;

export class BranchSettler {
  readonly #ownership: Ownership;
  readonly #losses: LossBook;
  readonly #staleCaches: Pick<StaleCaches, 'doubt'>;
  readonly #look: ReplicaLook;

  constructor(
    ownership: Ownership,
    parts: {
      readonly losses: LossBook;
      readonly staleCaches: Pick<StaleCaches, 'doubt'>;
      readonly look: ReplicaLook;
    },
  ) {
    this.#ownership = ownership;
    this.#losses = parts.losses;
    this.#staleCaches = parts.staleCaches;
    this.#look = parts.look;
  }

  /** Another cell's branch lost against what is here. */
  async lost({ run, execution }: Here, piece: Piece, signal: AbortSignal): Promise<ApplyOutcome> {
    const { ref, content } = piece;
    if (!run) return { kind: 'lost' };
    if (!this.#acts(ref)) return { kind: 'undecided' };
    if (content.events.includes('WorkflowTaskCompleted')) this.#staleCaches.doubt(ref);
    if (isStray(run, execution?.current)) return this.supersede(piece, signal);
    if (run.head.closedAt !== undefined) {
      const inputs = unheardOf(content.inputs, run.head, execution?.ledger);
      if (run.pending) await orAbort(run.pending.committed, signal); // What it took may be on its way.
      await orAbort(this.#note(piece, unsettled(inputs)), signal);
      return { kind: 'lost' };
    }
    const reapplied: string[] = [];
    let refused = false;
    for (const lost of unheardOf(content.inputs, run.head)) {
      const { name, input } = lost;
      const epoch = this.#ownership.standing.epochOf(ref.namespaceId);
      const { answer } = await this.#ownership.attempt(run.ref, input, { signal, epoch });
      if (!(answer instanceof AtollError)) reapplied.push(name);
      // It is full, or has ended meanwhile: whatever comes behind this is not to wait for that.
      else refused ||= unheardOf([lost], run.head, execution?.ledger).length > 0;
    }
    const outcome = content.closes ? 'reopened' : 'rolled-back';
    const became = refused ? 'signal-undeliverable' : outcome;
    await orAbort(this.#note(piece, became, { reapplied }), signal);
    return { kind: 'lost' };
  }

  /**
   * Our own branch is about to give way to another cell's. From then on this process alone knows what it held: what comes of
   * that if it dies is kept first, by what the winner has of it.
   */
  foretell(
    piece: Piece,
    winner: Pick<RunImage, 'state' | 'ledger'>,
    signal: AbortSignal,
  ): Promise<LossOutcome> {
    const known = new Map(winner.ledger.map((entry) => [entry.requestId, entry]));
    const ledger = { find: (requestId: string) => known.get(requestId) };
    const outcome = unsettled(unheardOf(piece.content.inputs, winner.state, ledger));
    return orAbort(
      this.#note(piece, outcome, { foretold: true }).then(() => outcome),
      signal,
    );
  }

  /**
   * Our own branch has given way.
   * @param foretold what that comes to where nothing of it can be applied again
   */
  async lostOwn(piece: Piece, foretold: LossOutcome, signal: AbortSignal): Promise<void> {
    let outcome: ApplyOutcome | undefined;
    try {
      outcome = await this.#look.at(piece, signal, (here) => this.lost(here, piece, signal));
    } finally {
      // It does not act any more, and no other cell knows what its branch held: that is to be reported at least.
      if (outcome?.kind !== 'lost') await this.#note(piece, foretold);
    }
  }

  /** A run that only another cell knew is here, whole. It goes on, or ends if its id was taken since. */
  async cameWhole(state: RunState, signal: AbortSignal): Promise<ApplyOutcome> {
    const run = this.#ownership.memory.peekRun(state);
    if (!run || !this.isLate(state)) return { kind: 'applied' };
    const { transition: to, epoch } = state;
    const piece = { ref: run.ref, transitions: { from: 1, to, epoch }, content: NOTHING_LOST };
    if (isStray(run, this.#ownership.memory.pointerOf(state))) {
      return this.supersede(piece, signal);
    }
    await orAbort(this.adopted(piece), signal);
    return { kind: 'applied' };
  }

  /** A namespace acts here, in a newer epoch than the one in which it wrote this. */
  isLate({ namespaceId, epoch }: Pick<RunState, 'namespaceId' | 'epoch'>): boolean {
    const { standing } = this.#ownership;
    return standing.drives(namespaceId) && epoch < standing.epochOf(namespaceId);
  }

  /** A run that only the loser knew goes on here. */
  adopted(piece: Piece): Promise<void> {
    return this.#note(piece, 'adopted');
  }

  /** A run is here whose id was taken since: it ends. */
  async supersede(piece: Piece, signal: AbortSignal): Promise<ApplyOutcome> {
    const run = this.#ownership.memory.peekRun(piece.ref);
    invariant(run !== undefined, 'a run that was just applied is in memory');
    await orAbort(this.#note(piece, 'superseded'), signal);
    await this.#ownership.supersede(run, signal);
    return { kind: 'lost' };
  }

  #acts({ namespaceId }: RunRef): boolean {
    return this.#ownership.standing.drives(namespaceId);
  }

  #note(
    piece: Piece,
    outcome: LossOutcome,
    more: Partial<Pick<LostPiece, 'reapplied' | 'foretold'>> = {},
  ): Promise<void> {
    const wonBy = this.#ownership.standing.epochOf(piece.ref.namespaceId);
    return this.#losses.note({ reapplied: [], ...piece, ...more, outcome, wonBy });
  }
}
