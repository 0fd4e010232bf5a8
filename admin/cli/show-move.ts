/** A move and its lanes as lines for a person, and what its end means for a script. */
import type {
  AdminResponse,
  LaneMessage,
  MoveMessage,
  MovePauseMessage,
} from '../../wire/atoll/admin.ts';
import { CLI_EXIT, type CliExit } from './exit.ts';
import { duration, pairs } from './text.ts';

const PHASES: Readonly<Record<string, string>> = {
  seed: 'copying to the target',
  tail: 'catching up',
  verify: 'comparing every execution',
  reverse: 'proving the lane back',
  handover: 'handing over: calls are held',
  release: 'switched: telling the cells',
  reopen: 'rolled back: opening the source',
  settled: 'moved: waiting to be confirmed',
  finished: 'finished',
};

export function moveLine(move: MoveMessage): string {
  const { id = '', from = '', to = '', phase = '', outcome, note } = move;
  const what = outcome !== undefined && phase === 'finished' ? outcome : (PHASES[phase] ?? phase);
  return `move ${id}  ${from} → ${to}  ${what}${note ? `  (${note})` : ''}`;
}

export function moveDetails({
  move = {},
  active,
  epoch,
  lanes = [],
}: AdminResponse<'DescribeMove'>): string {
  const own = pairs({
    move: `${move.id ?? ''} (${move.kind ?? ''})`,
    from: move.from,
    to: move.to,
    phase: phaseText(move.phase),
    'waits for': move.note,
    outcome: move.outcome,
    why: move.reason,
    'calls held for': move.pauseMs === undefined ? undefined : duration(move.pauseMs),
    'of that': move.pause && pauseParts(move.pause),
    'driven by': move.driver,
    'active cell': active,
    epoch,
  });
  return own + lanes.map(laneLine).join('');
}

function phaseText(phase = ''): string {
  const meaning = PHASES[phase];
  return meaning === undefined || meaning === phase ? phase : `${phase}: ${meaning}`;
}

/** In the order in which they came. */
function pauseParts(pause: MovePauseMessage): string {
  const { gatesMs, drainMs, compareMs, switchMs, openMs, compared = 0 } = pause;
  const parts = [
    [gatesMs, 'closing the source'],
    [drainMs, 'bringing the rest over'],
    [compareMs, `comparing once more the ${compared} executions that had changed`],
    [switchMs, 'switching the map'],
    [openMs, 'opening the target'],
  ] as const;
  return parts
    .filter(([ms]) => ms !== undefined)
    .map(([ms, what]) => `${ms} ms ${what}`)
    .join(', ');
}

export function laneLine(lane: LaneMessage): string {
  const ends = `lane ${lane.from ?? ''} → ${lane.to ?? ''}`;
  if (lane.kind === 'unreachable') return `${ends}: ${lane.why ?? 'unreachable'}\n`;
  const copy = `copied ${lane.copied ?? 0} of about ${lane.total ?? 0} runs`;
  const tail = `${lane.pending ?? 0} transitions and ${duration(lane.lagMs ?? 0)} behind`;
  const bad = [
    [lane.parked ?? 0, 'parked'],
    [lane.deadLetters ?? 0, 'in dead letters'],
  ].filter(([count]) => count !== 0);
  const trouble = bad.map(([count, what]) => `, ${count} ${what}`).join('');
  return `${ends}: ${lane.kind === 'copy' ? copy : tail}${trouble}\n`;
}

/** How much is left to copy or to apply. */
export function leftOf(lane: LaneMessage | undefined): number | undefined {
  if (lane === undefined || lane.kind === 'unreachable') return undefined;
  return lane.kind === 'copy' ? (lane.total ?? 0) - (lane.copied ?? 0) : (lane.pending ?? 0);
}

/** Whether waiting is over. */
export function isOver({ phase, autoConfirm }: MoveMessage): boolean {
  return phase === 'finished' || (phase === 'settled' && autoConfirm !== true);
}

export function exitOf({ phase, outcome }: MoveMessage): CliExit {
  if (phase === 'settled') return CLI_EXIT.ok;
  return outcome === 'confirmed' || outcome === 'failed-over' || outcome === 'switched-back'
    ? CLI_EXIT.ok
    : CLI_EXIT.asBefore;
}
