/**
 * Gathers what branches lost here, transition by transition, into one entry an execution, and tells each change (D9).
 *
 * Invariants
 *  1. A transition that comes twice is counted once, in whatever order they come.
 *  2. At most `LIMIT` executions are remembered here, the oldest leave first: what was told stays told.
 */
import type { RunRef } from './engine.ts';
import type { LostContent } from './losing-branch.ts';
import type { Loss, LossOutcome, LostExecution } from './loss.ts';

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
};

type Range = { readonly from: number; readonly to: number };
/** What was told of an execution, and the transitions that it covers. */
type Known = { readonly loss: Loss; readonly covered: readonly Range[] };

const LIMIT = 10_000;
/** Names kept of an execution, of each kind. */
const NAMES = 100;

export class LossBook {
  readonly #tell: (loss: Loss) => void;
  readonly #known = new Map<string, Known>();

  constructor(tell: (loss: Loss) => void) {
    this.#tell = tell;
  }

  note(piece: LostPiece): void {
    const { ref, wonBy, transitions } = piece;
    const key = `${ref.runId}/${wonBy}`;
    const known = this.#known.get(key);
    const covered = known?.covered ?? [];
    if (covered.some(({ from, to }) => from <= transitions.from && transitions.to <= to)) return;
    const { workflowId, runId, namespaceId } = ref;
    const loss = {
      namespaceId,
      epoch: wonBy,
      execution: { workflowId, runId, ...merged(known?.loss.execution, piece) },
    };
    this.#known.delete(key);
    this.#known.set(key, { loss, covered: joined(covered, transitions) });
    if (this.#known.size > LIMIT) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#tell(loss);
  }
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
  'adopted',
  'signal-undeliverable',
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
    mayHaveRunTwice: names(known?.mayHaveRunTwice, content.startedActivities),
  };
}
