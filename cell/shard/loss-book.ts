/**
 * Gathers what branches lost here, transition by transition, into one entry an execution, and tells each change (D9).
 *
 * Invariants
 *  1. A transition that comes twice is counted once.
 *  2. At most `LIMIT` executions are remembered here, the oldest leave first: what was told stays told.
 */
import type { RunRef } from './engine.ts';
import type { LostContent } from './losing-branch.ts';
import type { Loss, LossOutcome, LostExecution } from './replicas.ts';

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

const LIMIT = 10_000;
/** Names kept of an execution, of each kind. */
const NAMES = 100;

export class LossBook {
  readonly #tell: (loss: Loss) => void;
  readonly #known = new Map<string, Loss>();

  constructor(tell: (loss: Loss) => void) {
    this.#tell = tell;
  }

  note(piece: LostPiece): void {
    const { ref, wonBy, transitions } = piece;
    const key = `${ref.runId}/${wonBy}`;
    const known = this.#known.get(key);
    if (known && known.execution.transitions.to >= transitions.to) return;
    const { workflowId, runId, namespaceId } = ref;
    const loss = {
      namespaceId,
      epoch: wonBy,
      execution: { workflowId, runId, ...merged(known?.execution, piece) },
    };
    this.#known.delete(key);
    this.#known.set(key, loss);
    if (this.#known.size > LIMIT) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#tell(loss);
  }
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
  const joined = (before: readonly string[] = [], more: readonly string[]) =>
    [...before, ...more].slice(0, NAMES);
  return {
    outcome: worse(known?.outcome, outcome),
    transitions: { ...transitions, from: known?.transitions.from ?? transitions.from },
    rolledBack: joined(known?.rolledBack, content.events),
    reapplied: joined(known?.reapplied, reapplied),
    mayHaveRunTwice: joined(known?.mayHaveRunTwice, content.startedActivities),
  };
}
