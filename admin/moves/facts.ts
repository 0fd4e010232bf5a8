/**
 * What an orchestrator knows of a move in its present phase, and what it may do next: the words between the pure steps
 * and the driver that performs them.
 *
 * Invariant: facts are of one phase; the driver begins each phase with none, so that nothing old decides (PROTOCOLS 8).
 */
import type { MovePhase } from '../../fleet/move.ts';
import type { ErrorCode } from '../../kernel/errors.ts';
import type { LaneStatus, ShardBarrier, VerifyReport } from '../../replication/control/control.ts';

/** What a cell answered, or why it did not. */
export type Answer<Value> =
  | { readonly kind: 'answered'; readonly value: Value }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };

export type Facts = {
  /** ms in this phase, by the driver's own clock; after a takeover as far as the map tells. */
  readonly phaseMs: number;
  /** Failures in a row in this phase. */
  readonly failures: number;
  readonly lane?: Answer<LaneStatus> | undefined;
  /** From the target back to the source. */
  readonly reverse?: Answer<LaneStatus> | undefined;
  readonly verified?: Answer<VerifyReport> | undefined;
  /** Rounds of `verify` in this phase that were answered: one that failed found nothing. */
  readonly rounds: number;
  readonly barriers?: Answer<readonly ShardBarrier[]> | undefined;
  readonly target?: Answer<'observed'> | undefined;
  readonly source?: Answer<'observed'> | undefined;
};

/** Facts that are asked of a cell, by name. */
export type Ask =
  | { readonly kind: 'lane' | 'reverse' | 'gate' | 'observe-target' | 'observe-source' }
  /** `changed`: only what changed since it was last found equal. */
  | { readonly kind: 'verify'; readonly repair: boolean; readonly changed: boolean };

/** What comes next. Everything here may be done twice. */
export type Step =
  | { readonly kind: 'ask'; readonly ask: Ask }
  /** Come again after this time, with the named facts forgotten. `note` says for what, for a person. */
  | {
      readonly kind: 'wait';
      readonly ms: number;
      readonly note: string;
      readonly forget: readonly (keyof Facts)[];
    }
  | {
      readonly kind: 'advance';
      readonly to: Extract<MovePhase, 'tail' | 'verify' | 'reverse' | 'settled'>;
    }
  | { readonly kind: 'begin-handover' }
  | { readonly kind: 'flip' }
  | { readonly kind: 'roll-back'; readonly reason: string }
  | { readonly kind: 'end' }
  /** Nothing to drive: it waits for a person, or is over. */
  | { readonly kind: 'rest' };

export const NO_FACTS: Facts = { phaseMs: 0, failures: 0, rounds: 0 };

export function ask(kind: Exclude<Ask['kind'], 'verify'>): Step {
  return { kind: 'ask', ask: { kind } };
}

/** Waits after an answer that failed: longer each time, up to `maxBackOffMs`. */
export function tryAgain(
  facts: Facts,
  failed: { readonly message: string },
  forget: readonly (keyof Facts)[],
): Step {
  const ms = Math.min(MOVE_PACE.maxBackOffMs, MOVE_PACE.lookMs * 2 ** Math.min(facts.failures, 10));
  return { kind: 'wait', ms, note: failed.message, forget };
}

/** How fast, and how near, before a handover may begin. */
export const MOVE_PACE = {
  /** Between two looks at a lane before the handover. */
  lookMs: 200,
  maxBackOffMs: 5_000,
  /** What more executions changed since they were compared makes the pause long: they are compared once more before it. */
  maxChanged: 1_000,
  /** As often as that; an execution that changes all the while cannot be waited for. */
  changedRounds: 5,
  /** Between two looks at a lane during the handover, when calls are held. */
  drainLookMs: 10,
  /** A lane further behind makes the pause long: the move waits. */
  maxLagMs: 1_000,
  maxPending: 20_000,
  /** A reverse lane that was not acknowledged for longer is not proven. */
  maxSilenceMs: 5_000,
  /** Clocks of cells further apart block a move (D16). */
  maxSkewMs: 1_000,
  /** How long the old side is told of a switch: it reads the map when it comes back (PROTOCOLS 8.4). */
  tellOldSideMs: 10_000,
} as const;
