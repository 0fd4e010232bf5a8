/**
 * The port to what could not be replicated (PROTOCOLS 7): durable at the source, per lane, with the reason, until the run
 * was repaired by its state. A PostgreSQL and a memory adapter; one conformance suite.
 *
 * Promises
 *  1. A letter is durable when `add` resolves; the same one added again changes nothing but its reason.
 *  2. A repaired letter stays readable, and counts no longer.
 */

export type DeadLetter = {
  readonly namespaceId: string;
  /** The cell that could not take it. */
  readonly target: string;
  readonly workflowId: string;
  readonly runId: string;
  /** The transition; all later ones of the run are behind it until it is repaired. */
  readonly transition: number;
  readonly at: number;
  readonly reason: string;
  /** As it travelled; empty when it was the run's image. */
  readonly step: Uint8Array;
  readonly repairedAt?: number | undefined;
};

export type LetterLane = { readonly namespaceId: string; readonly target: string };

export interface DeadLetters {
  add(letter: DeadLetter, signal: AbortSignal): Promise<void>;
  /** The run's letters count no longer. */
  repaired(
    lane: LetterLane,
    run: { readonly runId: string; readonly at: number },
    signal: AbortSignal,
  ): Promise<void>;
  /** A lane's letters, oldest first; those that still count, or all. */
  list(
    lane: LetterLane,
    options: { readonly repairedToo: boolean; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly DeadLetter[]>;
}
