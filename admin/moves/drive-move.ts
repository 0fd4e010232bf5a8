/**
 * Drives one move as long as this orchestrator holds it: map → step → cells or map → again. All that decides lies in
 * next-step.ts; all that switches lies in the map (fleet/handover.ts).
 *
 * Invariants
 *  1. It may die between any two lines here, and be followed by another that begins at the phase in the map.
 *  2. Facts of one phase never decide in another.
 */
import type { FleetMap } from '../../fleet/map.ts';
import { beginHandover, flip, rollBack } from '../../fleet/handover.ts';
import { advanceMove, endMove, type MoveRef } from '../../fleet/move-changes.ts';
import { isRunning, moveById, type Move } from '../../fleet/move.ts';
import type { Change } from '../../fleet/table.ts';
import { sleep } from '../../kernel/clock.ts';
import { withDeadline } from '../../kernel/deadline.ts';
import { toAtollError } from '../../kernel/errors.ts';
import { MOVE_PACE, NO_FACTS, type Facts, type Step } from './facts.ts';
import { nextStep } from './next-step.ts';
import { pauseParts, type PauseParts } from './pause-parts.ts';
import { performAsk } from './perform-ask.ts';
import { MOVE_DEADLINES, type MovePorts } from './ports.ts';

/** Where the driving stands: the facts of one phase. */
type Progress = {
  readonly phase: Move['phase'] | undefined;
  /** Monotonic time at which the phase began. */
  readonly sinceMs: number;
  readonly facts: Facts;
  readonly pauseMs: number | undefined;
  readonly pause: PauseParts;
};

const NOT_BEGUN: Progress = {
  phase: undefined,
  sinceMs: 0,
  facts: NO_FACTS,
  pauseMs: undefined,
  pause: { parts: {}, sinceMs: 0 },
};

/**
 * Returns when the move rests, or is another's to drive. Rejects only when `signal` aborts.
 * `onNote` hears what the move waits for.
 */
export async function driveMove(
  ports: MovePorts,
  ref: MoveRef,
  options: { readonly signal: AbortSignal; readonly onNote: (note: string | undefined) => void },
): Promise<void> {
  const { signal, onNote } = options;
  let progress = NOT_BEGUN;
  for (;;) {
    signal.throwIfAborted();
    const { map } = ports.map;
    const move = moveIn(map, ref);
    if (move === undefined || !isRunning(move) || move.driver?.id !== ports.driverId) return;
    progress = inPhase(ports, move, progress);
    const phaseMs = ports.clock.monotonicMs() - progress.sinceMs;
    const facts = { ...progress.facts, phaseMs };
    const step = nextStep(move, facts);
    if (step.kind === 'rest') return;
    onNote(step.kind === 'wait' ? step.note : undefined);
    if (step.kind === 'ask') {
      const asked = { namespaceId: ref.namespaceId, move, revision: map.revision, facts };
      const next = await performAsk(ports, { ask: step.ask, asked }, signal);
      progress = seen(ports, move, { ...progress, facts: next });
    } else if (step.kind === 'wait') {
      await sleep(ports.clock, step.ms, signal);
      progress = { ...progress, facts: without(facts, step.forget) };
    } else {
      await makeChange(ports, { ref, step, progress }, signal);
    }
  }
}

/** Facts begin anew with each phase; its age is what the map says, so that a takeover does not start it again. */
function inPhase(ports: MovePorts, move: Move, progress: Progress): Progress {
  if (progress.phase === move.phase) return progress;
  const ageMs = Math.max(0, ports.clock.now() - move.phaseSince);
  const sinceMs = ports.clock.monotonicMs() - ageMs;
  ports.log.info({ move: move.id, phase: move.phase, from: move.from, to: move.to }, 'move');
  const pause = move.phase === 'handover' ? { parts: {}, sinceMs } : progress.pause;
  return seen(ports, move, { ...progress, phase: move.phase, sinceMs, facts: NO_FACTS, pause });
}

/** After an answer, or a change of the map: how long the pause is by now, and where it went. */
function seen(ports: MovePorts, move: Move, progress: Progress): Progress {
  const { facts } = progress;
  const nowMs = ports.clock.monotonicMs();
  const pauseMs = pauseOf(ports, move, progress);
  const pause = pauseParts(progress.pause, { phase: move.phase, facts, nowMs });
  if (pauseMs !== undefined && progress.pauseMs === undefined) {
    ports.log.info({ move: move.id, pauseMs, ...pause.parts }, 'calls were held');
  }
  return { ...progress, pauseMs, pause };
}

/** Known once the target acts. */
function pauseOf(
  { clock }: MovePorts,
  move: Move,
  { pauseMs, facts }: Progress,
): number | undefined {
  if (pauseMs !== undefined || facts.target?.kind !== 'answered') return pauseMs;
  return move.handoverAt === undefined ? undefined : Math.max(0, clock.now() - move.handoverAt);
}

type MapStep = Exclude<Step, { readonly kind: 'ask' | 'wait' | 'rest' }>;

/** Makes it durable. Refused or unreachable: the map is looked at again, and the state machine decides again. */
async function makeChange(
  ports: MovePorts,
  asked: {
    readonly ref: MoveRef;
    readonly step: MapStep;
    readonly progress: Progress;
  },
  signal: AbortSignal,
): Promise<void> {
  const { ref, step } = asked;
  const change = changeOf(ports, asked);
  const deadline = {
    what: `${step.kind} of move ${ref.moveId}`,
    timeoutMs: MOVE_DEADLINES.mapMs,
    parent: signal,
  };
  try {
    await withDeadline(ports.clock, deadline, (inTime) => ports.map.update(change, inTime));
  } catch (thrown) {
    signal.throwIfAborted();
    const { message } = toAtollError(thrown);
    ports.log.warn({ move: ref.moveId, step: step.kind, why: message }, 'the map refused a step');
    await sleep(ports.clock, MOVE_PACE.lookMs, signal);
    await ports.map.refresh();
  }
}

function changeOf(
  { driverId: driver, clock }: MovePorts,
  asked: {
    readonly ref: MoveRef;
    readonly step: MapStep;
    readonly progress: Progress;
  },
): (map: FleetMap) => Change {
  const { ref, step, progress } = asked;
  const at = clock.now();
  switch (step.kind) {
    case 'advance':
      return (map) => advanceMove(map, { ...ref, driver, to: step.to, at, ...measured(progress) });
    case 'begin-handover':
      return (map) => beginHandover(map, { ...ref, driver, at });
    case 'flip':
      return (map) => flip(map, { ...ref, at });
    case 'roll-back': {
      const { reason } = step;
      return (map) => rollBack(map, { ...ref, at, reason, outcome: 'rolled-back' });
    }
    case 'end':
      return (map) => endMove(map, { ...ref, at });
  }
}

/** Nothing before it is over: a driver that took over must not wipe out what another one measured. */
function measured({ pauseMs, pause }: Progress): Pick<Move, 'pauseMs' | 'pause'> {
  return pauseMs === undefined ? {} : { pauseMs, pause: pause.parts };
}

function moveIn(map: FleetMap, ref: MoveRef): Move | undefined {
  const namespace = map.namespaces[ref.namespaceId];
  return namespace === undefined ? undefined : moveById(namespace, ref.moveId);
}

function without(facts: Facts, names: readonly (keyof Facts)[]): Facts {
  return Object.fromEntries(
    Object.entries(facts).filter(([name]) => !names.includes(name as keyof Facts)),
  ) as Facts;
}
