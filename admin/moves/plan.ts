/**
 * Step 0: what a move would meet, without touching anything (D10): what blocks it, what it would wait for, and about how
 * long calls would be held.
 */
import type { CachedFleetMap } from '../../fleet/cached-map.ts';
import type { Namespace } from '../../fleet/map.ts';
import { runningMove, settledMove } from '../../fleet/move.ts';
import type { LaneStatus } from '../../replication/control/control.ts';
import type { Answer } from './facts.ts';
import { laneBlocker, laneDelay, laneSilence } from './lane-trouble.ts';

export type Finding = { readonly code: string; readonly says: string };

export type MovePlan = {
  readonly from: string;
  readonly to: string;
  /** None: it may start. */
  readonly blockers: readonly Finding[];
  /** What it would do or wait for first. */
  readonly notes: readonly Finding[];
  /** How long calls would be held, ms, if it were switched now. */
  readonly predictedPauseMs: number;
};

export type PlanFacts = {
  readonly map: CachedFleetMap['map'];
  readonly namespace: Namespace;
  readonly to: string;
  /** Whether the target answers at all. */
  readonly target: Answer<unknown>;
  /** From the active cell to the target. */
  readonly lane: Answer<LaneStatus>;
};

/** Two changes of the map, each heard by routers and cells; one round of gates, one look at the lane. */
const FIXED_PAUSE_MS = 250;
/** A gate is one record in each shard's log; appends of many shards share a statement. */
const GATE_MS_PER_SHARD = 0.25;

export function planMove(facts: PlanFacts): MovePlan {
  const { namespace, to } = facts;
  return {
    from: namespace.placement.active,
    to,
    blockers: [...ofPlacement(facts), ...ofCells(facts)],
    notes: notesOf(facts),
    predictedPauseMs: predictPauseMs(facts),
  };
}

function ofPlacement({ map, namespace, to }: PlanFacts): readonly Finding[] {
  const { placement, name } = namespace;
  const [running, settled] = [runningMove(namespace), settledMove(namespace)];
  const found: (Finding | false)[] = [
    map.cells[to] === undefined && {
      code: 'unknown-cell',
      says: `no cell is named ${to}: atoll fleet show lists them`,
    },
    placement.active === to && { code: 'there-already', says: `${name} is active in ${to}` },
    running !== undefined && {
      code: 'move-under-way',
      says: `move ${running.id} is under way (${running.phase}): wait for it, or abort it`,
    },
    settled !== undefined && {
      code: 'unconfirmed',
      says: `move ${settled.id} waits: confirm it, or switch back`,
    },
  ];
  return found.filter((one) => one !== false);
}

function ofCells({ namespace, to, target, lane }: PlanFacts): readonly Finding[] {
  const away = (cell: string, message: string): Finding => {
    return { code: 'unreachable', says: `cell ${cell} does not answer: ${message}` };
  };
  const found: Finding[] = [];
  if (isAway(target)) found.push(away(to, target.message));
  if (isAway(lane)) found.push(away(namespace.placement.active, lane.message));
  const blocker = lane.kind === 'answered' ? laneBlocker(lane.value) : undefined;
  if (blocker !== undefined) found.push(blocker);
  return found;
}

/** A cell that answers so is there: it only has no such replica yet. */
function isAway(answer: Answer<unknown>): answer is Extract<Answer<unknown>, { kind: 'failed' }> {
  return answer.kind === 'failed' && !['not-found', 'failed-precondition'].includes(answer.code);
}

function notesOf({ map, namespace, to, lane }: PlanFacts): readonly Finding[] {
  if (namespace.placement.active === to || map.cells[to] === undefined) return [];
  if (!namespace.placement.replicas.includes(to)) {
    return [{ code: 'seed', says: `${to} keeps no copy yet: everything is copied first` }];
  }
  if (lane.kind === 'failed') {
    const { message } = lane;
    // What is said as a blocker is not said twice.
    return isAway(lane) ? [] : [{ code: 'lane', says: message }];
  }
  return [laneDelay(lane.value), laneSilence(lane.value)].filter((one) => one !== undefined);
}

/** Never less than the last move really took: what was measured beats what is reckoned. */
function predictPauseMs({ map, namespace, lane }: PlanFacts): number {
  const shards = map.cells[namespace.placement.active]?.shards ?? 0;
  const lagMs = lane.kind === 'answered' && lane.value.kind === 'tail' ? lane.value.lagMs : 0;
  const reckoned = FIXED_PAUSE_MS + GATE_MS_PER_SHARD * shards + lagMs;
  const measured = namespace.moves?.findLast((move) => move.pauseMs !== undefined)?.pauseMs ?? 0;
  return Math.round(Math.max(reckoned, measured));
}
