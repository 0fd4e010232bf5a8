/**
 * Which process is killed, or what is commanded, at which step of a move: the plan of `npm run torture -- --moves`, and how
 * the move may end. Pure.
 */
import { isFlipDecided, isFlipped, isHandover, MOVE_STEPS, type MoveStep } from './move-step.ts';

export const ACTIONS = ['abort', 'kill orchestrator', 'kill source', 'kill target'] as const;
export type Action = (typeof ACTIONS)[number];

export type MoveCase = {
  readonly step: MoveStep;
  readonly action: Action;
  /** The killed process stays away for so long, ms. */
  readonly awayMs: number;
};

/** As it was: the source acts, at its epoch. Moved: the target acts, at the next. */
export type Ending = 'as it was' | 'moved';

/** A handover that waits for a cell is rolled back within the longest pause; a cell that stays away for longer sees that. */
export const MAX_PAUSE_MS = 5_000;
const LONG_AWAY_MS = 7_000;

/** Each action at each step; where calls are held, cells also stay away until the handover has been given up. */
export function planCases(): readonly MoveCase[] {
  return MOVE_STEPS.flatMap((step) =>
    ACTIONS.filter((action) => isPossible(step, action)).flatMap((action) => {
      const once: MoveCase = { step, action, awayMs: 0 };
      const cell = action === 'kill source' || action === 'kill target';
      return cell && isHandover(step) ? [once, { ...once, awayMs: LONG_AWAY_MS }] : [once];
    }),
  );
}

/** A move that has been aborted already is not aborted again. */
function isPossible(step: MoveStep, action: Action): boolean {
  return action !== 'abort' || step !== 'reopen: observe source';
}

/**
 * How the move may end. Where both may be, a handover that is too slow is given up: a cell that has just started reads
 * from its tables what it would have known.
 */
export function allowedEndings({ step, action }: MoveCase): readonly Ending[] {
  if (step === 'reopen: observe source') return ['as it was'];
  if (isFlipped(step)) return ['moved'];
  return action === 'abort' ? ['as it was'] : ['as it was', 'moved'];
}

/** Whether the cell that is killed serves the namespace's calls while it is away: only then may any fail. */
export function mayFailCalls({ step, action }: MoveCase): boolean {
  if (action === 'kill source') return !isFlipped(step);
  return action === 'kill target' && isFlipDecided(step) && step !== 'reopen: observe source';
}

export function nameOf({ step, action, awayMs }: MoveCase): string {
  return `${step} × ${action}${awayMs > 0 ? `, away for ${awayMs / 1_000} s` : ''}`;
}
