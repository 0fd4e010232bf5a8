/**
 * Gathers what branches lost here, transition by transition, into one entry an execution, and has each change kept (D9).
 *
 * Invariants
 *  1. A transition that comes twice is counted once, in whatever order they come, and whichever process took it first.
 *  2. At most `LIMIT` executions are remembered here, the oldest leave first: what was kept is asked for again.
 *  3. Pieces of one execution are kept one after the other.
 *  4. What was foretold stays kept if nothing follows: what follows takes its place.
 */
import type { RunRef } from '../engine.ts';
import { NOTHING_LOST, type LostContent } from './losing-branch.ts';
import { keepsNoLosses, type LossKeeper, type LossOutcome, type LostExecution } from './loss.ts';

/** A piece of a losing branch: some of its transitions, and what became of them. */
export type LostPiece = {
  readonly ref: RunRef;
  /** The epoch that won. */
  readonly wonBy: number;
  readonly transitions: LostExecution['transitions'];
  readonly outcome: LossOutcome;
  readonly content: LostContent;
  /** Names of inputs that were applied again, or had been before. */
  readonly reapplied: readonly string[];
  /** What it comes to if this process dies before it can say more. */
  readonly foretold?: boolean | undefined;
};

type Range = { readonly from: number; readonly to: number };
/** What was told of an execution, and the transitions that it covers. */
type Known = {
  readonly execution: LostExecution;
  readonly covered: readonly Range[];
  /** It was foretold; what was known before that, if anything. */
  readonly foretold?: { readonly before: Known | undefined } | undefined;
};

const LIMIT = 10_000;
/** Names kept of an execution, of each kind. */
const NAMES = 100;

export class LossBook {
  #keeper: LossKeeper = keepsNoLosses;
  readonly #known = new Map<string, Known>();
  /** The last piece of an execution that is being kept. */
  readonly #turns = new Map<string, Promise<void>>();

  keepIn(keeper: LossKeeper): void {
    this.#keeper = keeper;
  }

  /** Resolves once the piece is in what is kept. */
  note(piece: LostPiece): Promise<void> {
    const key = `${piece.ref.runId}/${piece.wonBy}`;
    const before = this.#turns.get(key) ?? Promise.resolve();
    const turn = before
      .catch(() => {}) // Told to whoever noted it.
      .then(() => this.#note(key, piece))
      .finally(() => {
        if (this.#turns.get(key) === turn) this.#turns.delete(key);
      });
    this.#turns.set(key, turn);
    return turn;
  }

  async #note(key: string, piece: LostPiece): Promise<void> {
    const { ref, wonBy: epoch, transitions } = piece;
    const { workflowId, runId, namespaceId } = ref;
    const name = { namespaceId, epoch, workflowId, runId };
    const last = this.#known.get(key) ?? keptBefore(await this.#keeper.kept(name));
    const known = last?.foretold ? last.foretold.before : last;
    const isTold = known !== undefined && covers(known, transitions);
    const stands = last === known;
    if (
      stands &&
      isTold &&
      worse(known.execution.outcome, piece.outcome) === known.execution.outcome
    )
      return;
    const more = isTold ? { ...piece, content: NOTHING_LOST, reapplied: [] } : piece;
    const execution = { workflowId, runId, ...merged(known?.execution, more) };
    await this.#keeper.keep({ namespaceId, epoch, execution });
    this.#known.delete(key);
    const covered = joined(known?.covered ?? [], transitions);
    const foretold = piece.foretold ? { before: known } : undefined;
    this.#known.set(key, { execution, covered, foretold });
    if (this.#known.size <= LIMIT) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

/** What another process kept: it said all between its first transition and its last. */
function keptBefore(execution: LostExecution | undefined): Known | undefined {
  return execution && { execution, covered: [execution.transitions] };
}

function covers({ covered }: Known, { from, to }: Range): boolean {
  return covered.some((range) => range.from <= from && to <= range.to);
}

/** Ranges with one more; those that touch become one, so that a branch told in order is one range. */
function joined(ranges: readonly Range[], { from, to }: Range): readonly Range[] {
  const touches = (one: Range) => one.from <= to + 1 && from <= one.to + 1;
  const touching = ranges.filter(touches);
  const one = {
    from: Math.min(from, ...touching.map((range) => range.from)),
    to: Math.max(to, ...touching.map((range) => range.to)),
  };
  return [...ranges.filter((range) => !touches(range)), one];
}

/** From what says most of an execution to what says least. */
const OUTCOMES: readonly LossOutcome[] = [
  'superseded',
  'signal-undeliverable',
  'adopted',
  'reopened',
  'rolled-back',
];

/** The one that says more of the execution as a whole. */
function worse(known: LossOutcome | undefined, next: LossOutcome): LossOutcome {
  if (known === undefined) return next;
  return OUTCOMES.indexOf(known) <= OUTCOMES.indexOf(next) ? known : next;
}

function merged(
  known: LostExecution | undefined,
  { transitions, outcome, content, reapplied }: LostPiece,
): Omit<LostExecution, 'workflowId' | 'runId'> {
  const names = (before: readonly string[] = [], more: readonly string[]) =>
    [...before, ...more].slice(0, NAMES);
  return {
    outcome: worse(known?.outcome, outcome),
    transitions: {
      from: Math.min(known?.transitions.from ?? transitions.from, transitions.from),
      to: Math.max(known?.transitions.to ?? transitions.to, transitions.to),
      epoch: transitions.epoch,
    },
    rolledBack: names(known?.rolledBack, content.events),
    reapplied: names(known?.reapplied, reapplied),
    // One is started in one transition and ends in another.
    mayHaveRunTwice: names(
      known?.mayHaveRunTwice,
      content.startedActivities.filter((name) => !known?.mayHaveRunTwice.includes(name)),
    ),
  };
}
