/** What keeps a lane from carrying a planned move (D10), in the words that plan and steps share. */
import type { LaneStatus } from '../../replication/control/control.ts';
import { MOVE_PACE } from './facts.ts';

export type Trouble = {
  readonly code: 'parked' | 'dead-letters' | 'clock-skew' | 'copying' | 'lag' | 'silent';
  readonly says: string;
};

/** What a person must clear away first. */
export function laneBlocker(lane: LaneStatus): Trouble | undefined {
  if (lane.parked > 0) {
    return { code: 'parked', says: `${lane.parked} runs are parked: repair them first (verify)` };
  }
  if (lane.deadLetters > 0) {
    const says = `${lane.deadLetters} transitions lie in dead letters: repair their runs first (verify)`;
    return { code: 'dead-letters', says };
  }
  const skew = Math.abs(lane.skewMs ?? 0);
  if (skew <= MOVE_PACE.maxSkewMs) return undefined;
  const says = `the clocks of the two cells are ${skew} ms apart: at most ${MOVE_PACE.maxSkewMs}`;
  return { code: 'clock-skew', says };
}

/** What passes with time. */
export function laneDelay(lane: LaneStatus): Trouble | undefined {
  if (lane.kind === 'copy') {
    return { code: 'copying', says: `copied ${lane.copied} of about ${lane.total} runs` };
  }
  if (lane.lagMs <= MOVE_PACE.maxLagMs && lane.pending <= MOVE_PACE.maxPending) return undefined;
  const says = `the target is ${lane.lagMs} ms and ${lane.pending} transitions behind; at most ${MOVE_PACE.maxLagMs} ms and ${MOVE_PACE.maxPending}`;
  return { code: 'lag', says };
}

/** The lane is not heard at its other end. */
export function laneSilence(lane: LaneStatus): Trouble | undefined {
  const { acknowledgedMsAgo: ago } = lane;
  if (ago !== undefined && ago <= MOVE_PACE.maxSilenceMs) return undefined;
  const since = ago === undefined ? 'anything yet' : `anything for ${Math.round(ago)} ms`;
  return { code: 'silent', says: `the other end has not acknowledged ${since}` };
}
