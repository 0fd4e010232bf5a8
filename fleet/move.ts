/**
 * A move of a namespace from one cell to another as the fleet map keeps it (D10): planned, back, or a forced failover.
 *
 * Place: part of a namespace's row. move-changes.ts, handover.ts and failover.ts change it (pure); an orchestrator drives
 * it (admin/moves) and may die anywhere: what is written here is all that the next one needs.
 *
 * Invariants
 *  1. Phases go forward only, along `NEXT_PHASES`; a finished move never changes again.
 *  2. A move enters `handover` at most once, so a late flip or rollback never meets another handover of the same id.
 */
import type { EpochMs } from '../kernel/clock.ts';

export type MovePhase =
  /** The target becomes a replica: lanes copy what there is. */
  | 'seed'
  /** The lane follows the log, closer than the limit. */
  | 'tail'
  /** Every execution is held against the target, and repaired where it differs. */
  | 'verify'
  /** The lane back is shown to work, so that switching back will be possible. */
  | 'reverse'
  /** The source is closed by gates; routers hold calls. */
  | 'handover'
  /** Flipped: the target begins to act, the source stands by. */
  | 'release'
  /** Rolled back: the source opens again. */
  | 'reopen'
  /** Moved; a person confirms or switches back. */
  | 'settled'
  | 'finished';

export type MoveOutcome =
  | 'confirmed'
  /** Given up before anything was switched. */
  | 'aborted'
  /** The handover did not end in time, or was aborted: the source goes on. */
  | 'rolled-back'
  /** Confirmed away: a later move went back. */
  | 'switched-back'
  | 'failed-over'
  /** A forced failover came in between. */
  | 'overtaken';

/** Who drives the move. It beats; when it stops, another takes over. No clock of another machine is believed. */
export type MoveDriver = {
  readonly id: string;
  /** Grows with every sign of life. */
  readonly beat: number;
};

/**
 * Where the time went while calls were held: its parts in their order, ms each, as far as the driver that ended it saw
 * them. They add up to less than the pause by what the driver itself did in between.
 */
export type MovePause = {
  /** Until every shard of the source was closed. */
  readonly gatesMs?: number | undefined;
  /** Until the target had applied all that the source had decided. */
  readonly drainMs?: number | undefined;
  /** Until what had changed since the last comparison was compared. */
  readonly compareMs?: number | undefined;
  /** Until the map was switched. */
  readonly switchMs?: number | undefined;
  /** Until the target acted. */
  readonly openMs?: number | undefined;
  /** Executions that were compared meanwhile. */
  readonly compared?: number | undefined;
};

export type Move = {
  readonly id: string;
  readonly kind: 'planned' | 'back' | 'failover';
  readonly from: string;
  readonly to: string;
  /** The epoch it started at; the flip raises it by one. */
  readonly fromEpoch: number;
  readonly startedAt: EpochMs;
  readonly phase: MovePhase;
  readonly phaseSince: EpochMs;
  /** A handover that takes longer is rolled back, ms. */
  readonly maxPauseMs: number;
  /** Goes on from `settled` to `confirmed` by itself. */
  readonly autoConfirm: boolean;
  /** The target was no replica before: giving up takes it out again. */
  readonly addedReplica?: boolean | undefined;
  /** Of kind `back`: the move that it undoes. */
  readonly backOf?: string | undefined;
  readonly driver?: MoveDriver | undefined;
  readonly handoverAt?: EpochMs | undefined;
  /** From the handover until the target acted, as its orchestrator measured it, ms. */
  readonly pauseMs?: number | undefined;
  readonly pause?: MovePause | undefined;
  /** What it waits for, for a person. */
  readonly note?: string | undefined;
  readonly outcome?: MoveOutcome | undefined;
  /** Why it ended so. */
  readonly reason?: string | undefined;
  readonly endedAt?: EpochMs | undefined;
};

/** Where a move may go from each phase by a step of its driver; `handover`'s flip and rollback are changes of their own. */
export const NEXT_PHASES: Readonly<Record<MovePhase, readonly MovePhase[]>> = {
  seed: ['tail'],
  tail: ['verify'],
  verify: ['reverse', 'tail'],
  reverse: ['handover', 'tail'],
  handover: ['release', 'reopen'],
  release: ['settled', 'finished'],
  reopen: ['finished'],
  settled: ['finished'],
  finished: [],
};

/** Whether an orchestrator has something to do for it. */
export function isRunning(move: Move): boolean {
  return move.phase !== 'finished' && (move.phase !== 'settled' || move.autoConfirm);
}

/** As much of a namespace as is asked here. */
type WithMoves = { readonly moves?: readonly Move[] | undefined };

/** The move that runs, or undefined. One that waits to be confirmed does not run. */
export function runningMove(namespace: WithMoves): Move | undefined {
  return namespace.moves?.find(isRunning);
}

/** The move that has been switched and waits for `confirm` or `back`. */
export function settledMove(namespace: WithMoves): Move | undefined {
  return namespace.moves?.find((move) => move.phase === 'settled');
}

export function moveById(namespace: WithMoves, id: string): Move | undefined {
  return namespace.moves?.find((move) => move.id === id);
}
